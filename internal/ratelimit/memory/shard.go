package memory

import (
	"sync"
)

// A shard is one lock's part of the keys. What every call needs stands together, within two cache lines.
type shard struct {
	mu sync.Mutex
	// now is the shard's time in microseconds, which never runs backwards; skew is what the clock was set back by.
	now, skew int64
	table     table
	// stamped and sequence make the stamps of log entries unique.
	stamped  int64
	sequence int64
	soonest  uint32 // No key expires before this coarse tick.
	rings    rings

	store     *Store
	cap       int
	hand      int // Where the search for a key to evict goes on.
	evictions int64
	full      int64

	_ [64]byte // Keeps two shards' locks off one cache line.
}

func (sh *shard) init(s *Store, keys int) {
	sh.store, sh.cap = s, max(1, keys)
	sh.soonest = never
}

// advance moves the shard's time on to a reading of the clock. A reading before the last one may only be an older one
// that lost the race for the lock, so the clock is read again; if it still lies before, it was set back. Time then
// stands still and goes on from there: no key is forgiven and none waits longer than its window.
func (sh *shard) advance(micros int64) {
	micros += sh.skew
	if micros < sh.now {
		if micros = sh.store.micros() + sh.skew; micros < sh.now {
			sh.skew += sh.now - micros
			micros = sh.now
		}
	}
	sh.now = micros
}

// place makes a slot for a key that has none, and is −1 if the shard is full. keep are the hashes of the call at hand,
// which are not evicted.
func (sh *shard) place(h uint64, keep []located) int {
	if sh.table.count >= sh.cap && !sh.evict(keep) {
		sh.full++
		return -1
	}
	i := sh.table.insert(h)
	sh.keep(&sh.table.slots[i], sh.now)
	return i
}

// drop forgets the key in the slot.
func (sh *shard) drop(i int) {
	s := &sh.table.slots[i]
	if s.size > 0 {
		sh.queue(s).freeRing()
	}
	sh.table.remove(i)
}

func (sh *shard) queue(s *slot) queue { return queue{slot: s, rings: &sh.rings} }

// keep notes when the slot's last unit leaves.
func (sh *shard) keep(s *slot, until int64) {
	s.expires = max(s.expires, coarse(until)+1)
	sh.soonest = min(sh.soonest, s.expires)
}

func (sh *shard) clear() {
	sh.table, sh.rings, sh.soonest, sh.hand = table{}, rings{}, never, 0
}

// never is the coarse tick that no clock reaches.
const never = 1<<32 - 1

// coarse is a time in ticks of about a second (2^20 µs), which fit 32 bits for longer than any process runs.
func coarse(micros int64) uint32 { return uint32(micros >> 20) } //nolint:gosec // See never.
