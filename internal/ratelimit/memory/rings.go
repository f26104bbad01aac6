package memory

// Rings come in sizes 4, 8, … 1 024 words: size class c holds 2 << c.
const (
	smallestClass = 1
	largestClass  = 9
)

// rings is where logs lie that do not fit in their slot: runs of words, one list a size class, reused.
type rings struct {
	classes [largestClass + 1]class
}

type class struct {
	words []int64 // Ring after ring.
	free  []int   // Rings that are not in use.
}

func ringWords(size uint8) int { return 2 << size }

// word is where the ring's i-th word lies.
func (r *rings) word(size uint8, ring, i int) *int64 {
	return &r.classes[size].words[ring<<(size+1)|i]
}

func (r *rings) alloc(size uint8) int {
	c := &r.classes[size]
	if n := len(c.free); n > 0 {
		ring := c.free[n-1]
		c.free = c.free[:n-1]
		return ring
	}
	n := len(c.words)
	c.words = append(c.words, make([]int64, ringWords(size))...)
	return n >> (size + 1)
}

func (r *rings) release(size uint8, ring int) {
	c := &r.classes[size]
	c.free = append(c.free, ring)
}

func (r *rings) bytes() int {
	n := 0
	for size := range r.classes {
		n += cap(r.classes[size].words)*8 + cap(r.classes[size].free)*8
	}
	return n
}

// idle is how many bytes lie in rings that are free.
func (r *rings) idle() int {
	n := 0
	for size := range uint8(len(r.classes)) {
		n += len(r.classes[size].free) * ringWords(size) * 8
	}
	return n
}

// A queue is a slot's ring seen as a queue of words, the oldest first. In the slot's word b lie the ring's number, its
// first place in use and how many are: 31, 16 and 16 bits. A queue of one word needs no ring: the word is in a.
type queue struct {
	slot  *slot
	rings *rings
}

func (q queue) ring() int { return int(q.slot.b >> 32) }
func (q queue) head() int { return int(q.slot.b >> 16 & 0xffff) }
func (q queue) len() int  { return int(q.slot.b & 0xffff) }

func (q queue) set(ring, head, n int) {
	q.slot.b = int64(ring)<<32 | int64(head)<<16 | int64(n)
}

// at is where the i-th word lies.
func (q queue) at(i int) *int64 {
	if q.slot.size == 0 {
		return &q.slot.a
	}
	return q.rings.word(q.slot.size, q.ring(), (q.head()+i)&(ringWords(q.slot.size)-1))
}

// front copies the oldest word to the slot's word a, of a queue that keeps it there.
func (q queue) front() {
	if q.slot.size > 0 {
		q.slot.a = *q.at(0)
	}
}

// push adds n words of one value at the end.
func (q queue) push(word int64, n int) {
	old := q.len()
	if n == 1 && q.slot.size > 0 && old < ringWords(q.slot.size) {
		q.slot.b++
		*q.at(old) = word
		return
	}
	q.reserve(old + n)
	if q.slot.size == 0 {
		q.slot.a = word
		q.slot.b = int64(n)
		return
	}
	q.slot.b += int64(n)
	for i := range n {
		*q.at(old + i) = word
	}
}

// pushPair adds two words at the end. A queue of pairs always has a ring.
func (q queue) pushPair(first, second int64) {
	n := q.len()
	q.reserve(n + 2)
	q.slot.b += 2
	*q.at(n), *q.at(n + 1) = first, second
}

// reserve moves the words to a ring that holds n, if theirs does not.
func (q queue) reserve(n int) {
	if n <= 1 && q.slot.size == 0 || q.slot.size > 0 && n <= ringWords(q.slot.size) {
		return
	}
	size := max(q.slot.size, smallestClass)
	for ringWords(size) < n {
		size++
	}
	q.move(size)
}

func (q queue) move(size uint8) {
	ring, n := q.rings.alloc(size), q.len()
	for i := range n {
		*q.rings.word(size, ring, i) = *q.at(i)
	}
	q.freeRing()
	q.slot.size = size
	q.set(ring, 0, n)
}

// pop drops the n oldest words. An empty queue keeps no ring.
func (q queue) pop(n int) {
	left := q.len() - n
	if left == 0 {
		q.freeRing()
		q.slot.size, q.slot.b = 0, 0
		return
	}
	head := 0
	if q.slot.size > 0 {
		head = (q.head() + n) & (ringWords(q.slot.size) - 1)
	}
	q.set(q.ring(), head, left)
}

// cut drops the word at i and moves the later ones up.
func (q queue) cut(i int) {
	n := q.len() - 1
	for ; i < n; i++ {
		*q.at(i) = *q.at(i + 1)
	}
	if n == 0 {
		q.pop(1)
		return
	}
	q.slot.b--
}

func (q queue) freeRing() {
	if q.slot.size > 0 {
		q.rings.release(q.slot.size, q.ring())
	}
}
