package memory

import "math/bits"

// A slot is one key. What the two words and the ring hold is the algorithm's matter.
type slot struct {
	hash uint64 // 0: free.
	a, b int64
	// expires is when the last unit has left, in coarse ticks, rounded up.
	expires uint32
	kind    kind
	// size is the ring's size class; 0 means that there is no ring.
	size uint8
	// refused is set while the last answer was a refusal: such a key is not evicted.
	refused bool
}

// A kind is the algorithm that a slot was made by.
type kind uint8

// A table is an open-addressed hash table of slots with linear probing. A slot's home is the hash's place on a line
// from 0 to the table's length, so that the length can be any number: growing by half wastes less than doubling does.
type table struct {
	slots []slot
	count int
}

const (
	slotBytes = 32
	firstSize = 16
)

func (t *table) bytes() int { return len(t.slots) * slotBytes }

// home is the slot at which the search for h begins. The bits that chose the shard are left out.
func (t *table) home(h uint64) int {
	hi, _ := bits.Mul64(h<<6, uint64(len(t.slots)))
	return int(hi) //nolint:gosec // Below the length, which is an int.
}

// find is the index of the hash's slot, or −1.
func (t *table) find(h uint64) int {
	if len(t.slots) == 0 {
		return -1
	}
	for i := t.home(h); ; {
		switch t.slots[i].hash {
		case h:
			return i
		case 0:
			return -1
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

// insert makes a slot for a hash that has none. It may move the others.
func (t *table) insert(h uint64) int {
	if t.count >= len(t.slots)-len(t.slots)/5 {
		t.resize(max(firstSize, len(t.slots)+len(t.slots)/2))
	}
	t.count++
	i := t.free(h)
	t.slots[i] = slot{hash: h}
	return i
}

// free is the index of the first free slot from the hash's home.
func (t *table) free(h uint64) int {
	i := t.home(h)
	for t.slots[i].hash != 0 {
		if i++; i == len(t.slots) {
			i = 0
		}
	}
	return i
}

func (t *table) resize(n int) {
	old := t.slots
	t.slots = make([]slot, n)
	for i := range old {
		if old[i].hash != 0 {
			t.slots[t.free(old[i].hash)] = old[i]
		}
	}
}

// remove frees the slot and moves those behind it up, so that no search ends early.
func (t *table) remove(i int) {
	t.count--
	n := len(t.slots)
	for j := i; ; {
		if j++; j == n {
			j = 0
		}
		h := t.slots[j].hash
		if h == 0 {
			break
		}
		// The slot at j may move to i unless its home lies behind i on the way to j.
		if home := t.home(h); distance(home, j, n) >= distance(i, j, n) {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
}

// distance is how many steps a search takes from one slot to the other.
func distance(from, to, n int) int {
	if d := to - from; d >= 0 {
		return d
	}
	return to - from + n
}
