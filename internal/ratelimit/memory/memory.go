// Package memory counts in this process: exact, sharded, bounded, and without allocating on the steady path.
//
// A key is a slot of 32 bytes in an open-addressed table without pointers, found by a keyed 64-bit hash; a log of more
// than one time lies in a ring beside the table (see table.go, rings.go). Times are whole microseconds of a clock that
// never runs backwards, counted from the store's making.
package memory

import (
	"context"
	"math/bits"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

const (
	// maxShards is how many locks the keys are spread over. A call notes the shards it locks in the bits of a word.
	maxShards = 64
	// keysPerShard is the least cap of a shard for which another one is worth having.
	keysPerShard = 256
	// defaultKeys caps the keys where the configuration does not: about 50 MB of addresses seen once.
	defaultKeys = 1_000_000
)

// A Config bounds a store. Its zero value is a store of a million keys on the machine's monotonic clock.
type Config struct {
	// Keys is the most keys held at once. A new key then takes the place of an expired one, else of a little used one
	// that was not refused, else it is answered with ErrFull.
	Keys int
	// Clock is the time since any fixed instant; nil means the machine's monotonic clock.
	Clock func() time.Duration
	// Evicted is called, under a lock, for each key that was dropped before its units had left; nil is not called.
	Evicted func()
}

// A Store is a ratelimit.Store in this process, safe for concurrent use.
type Store struct {
	hasher  hasher
	start   time.Time
	clock   func() time.Duration // Nil for the time since start.
	evicted func()
	shift   uint // The hash's top bits choose the shard.
	shards  []shard
	janitor janitor
}

var (
	_ ratelimit.Store     = (*Store)(nil)
	_ ratelimit.InProcess = (*Store)(nil)
	_ ratelimit.Returner  = (*Store)(nil)
)

// New makes an empty store. Close it when it is done with.
func New(config Config) *Store {
	if config.Keys <= 0 {
		config.Keys = defaultKeys
	}
	shardBits := uint(bits.Len(uint(min(maxShards, max(1, config.Keys/keysPerShard)))) - 1)
	s := &Store{
		hasher:  newHasher(),
		start:   time.Now(),
		clock:   config.Clock,
		evicted: config.Evicted,
		shift:   64 - shardBits,
		shards:  make([]shard, 1<<shardBits),
	}
	for i := range s.shards {
		s.shards[i].init(s, config.Keys>>shardBits)
	}
	s.janitor.sweep = s.sweep
	return s
}

// Take decides all charges at once; see ratelimit.Store.
func (s *Store) Take(_ context.Context, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	return s.AppendTake(make([]ratelimit.Verdict, 0, len(charges)), charges)
}

// Reset forgets the keys.
func (s *Store) Reset(_ context.Context, keys ...ratelimit.Key) error {
	for i := range keys {
		h := s.hasher.hash(&keys[i])
		sh := s.shard(h)
		sh.mu.Lock()
		if at := sh.table.find(h); at >= 0 {
			sh.drop(at)
		}
		sh.mu.Unlock()
	}
	return nil
}

// Close ends the sweeping of expired keys and frees the memory. The store must not be used afterwards; nothing of it
// runs when Close has returned.
func (s *Store) Close() {
	s.janitor.close()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.clear()
		sh.mu.Unlock()
	}
}

// Sweep drops the keys whose units have all left and gives memory back that the rest does not need. It runs by itself
// every few seconds while there are keys.
func (s *Store) Sweep() { s.sweep() }

func (s *Store) sweep() (left int) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.advance(s.micros())
		sh.expire()
		sh.fit()
		left += sh.table.count
		sh.mu.Unlock()
	}
	return left
}

// Stats are how full the store is.
type Stats struct {
	// Keys is how many it holds, expired ones included until they are swept.
	Keys int
	// Bytes is what tables and rings take, free places included.
	Bytes int
	// Evicted counts the keys that were dropped before their units had left.
	Evicted int64
	// Full counts the charges that found no place.
	Full int64
}

// Stats adds up the shards, one after the other.
func (s *Store) Stats() Stats {
	var st Stats
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		st.Keys += sh.table.count
		st.Bytes += sh.table.bytes() + sh.rings.bytes()
		st.Evicted += sh.evictions
		st.Full += sh.full
		sh.mu.Unlock()
	}
	return st
}

// micros reads the clock in whole microseconds.
func (s *Store) micros() int64 {
	if s.clock == nil {
		return int64(time.Since(s.start) / time.Microsecond)
	}
	return int64(s.clock() / time.Microsecond)
}

func (s *Store) shardIndex(h uint64) uint { return uint(h >> s.shift) }

func (s *Store) shard(h uint64) *shard { return &s.shards[s.shardIndex(h)] }
