// Package frequent tells which keys were noted most often lately, in bounded memory.
//
// Each slot of time has a Space-Saving sketch: a fixed number of counters, of which a new key takes over the smallest and
// its count. A key's count is therefore never too low within a slot that tracks it, and too high by no more than is said.
package frequent

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// slots is how many parts the span has: the oldest part goes as a whole.
const slots = 12

// Config says how much is remembered.
type Config struct {
	// Span is how long a note counts, at least, and by a twelfth longer at most.
	Span time.Duration
	// Keys is the most keys that one slot tells apart.
	Keys int
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// A Counter counts notes. It is safe for concurrent use.
type Counter[K comparable] struct {
	cfg   Config
	began time.Time

	mu       sync.Mutex
	sketches []*sketch[K] // Oldest first.
}

// An Entry is one key's count.
type Entry[K comparable] struct {
	Key K
	// Count is how often it was noted; at most Over of these belong to other keys.
	Count, Over int64
	// Last is when it was last noted.
	Last time.Time
}

// New makes a Counter.
func New[K comparable](cfg Config) *Counter[K] {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Counter[K]{cfg: cfg, began: cfg.Now()}
}

// Note counts a key once.
func (c *Counter[K]) Note(key K) {
	now := c.cfg.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(now)
	if n := len(c.sketches); n == 0 || now.Sub(c.sketches[n-1].began) >= c.cfg.Span/slots {
		c.sketches = append(c.sketches, newSketch[K](now, c.cfg.Keys))
	}
	c.sketches[len(c.sketches)-1].note(key, now)
}

// Top returns the keys that were noted most, most first, at most n.
func (c *Counter[K]) Top(n int) []Entry[K] {
	merged := c.merge()
	top := make([]Entry[K], 0, len(merged))
	for _, e := range merged {
		top = append(top, *e)
	}
	slices.SortFunc(top, func(a, b Entry[K]) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last))
	})
	return top[:min(n, len(top))]
}

// Count returns how often a key was noted, 0 if it is not among the most frequent.
func (c *Counter[K]) Count(key K) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(c.cfg.Now())
	var count int64
	for _, s := range c.sketches {
		if i, ok := s.index[key]; ok {
			count += s.entries[i].Count
		}
	}
	return count
}

// Since is the time from which on notes are counted.
func (c *Counter[K]) Since() time.Time {
	if since := c.cfg.Now().Add(-c.cfg.Span); since.After(c.began) {
		return since
	}
	return c.began
}

func (c *Counter[K]) merge() map[K]*Entry[K] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(c.cfg.Now())
	merged := map[K]*Entry[K]{}
	for _, s := range c.sketches {
		for _, e := range s.entries {
			sum := merged[e.Key]
			if sum == nil {
				sum = &Entry[K]{Key: e.Key}
				merged[e.Key] = sum
			}
			sum.Count, sum.Over, sum.Last = sum.Count+e.Count, sum.Over+e.Over, e.Last
		}
	}
	return merged
}

// expire drops the slots whose last instant is older than the span.
func (c *Counter[K]) expire(now time.Time) {
	old := 0
	for old < len(c.sketches) && now.Sub(c.sketches[old].began) >= c.cfg.Span+c.cfg.Span/slots {
		old++
	}
	c.sketches = slices.Delete(c.sketches, 0, old)
}

// A sketch is a heap of counters, the smallest on top, that knows where each key is.
type sketch[K comparable] struct {
	began   time.Time
	most    int
	entries []Entry[K]
	index   map[K]int
}

func newSketch[K comparable](now time.Time, most int) *sketch[K] {
	return &sketch[K]{began: now, most: most, index: map[K]int{}}
}

func (s *sketch[K]) note(key K, now time.Time) {
	i, known := s.index[key]
	switch {
	case known:
	case len(s.entries) < s.most:
		i = s.up(len(s.entries), Entry[K]{Key: key})
	default: // The smallest counter changes hands.
		least := s.entries[0]
		delete(s.index, least.Key)
		s.put(0, Entry[K]{Key: key, Count: least.Count, Over: least.Count})
		i = 0
	}
	s.entries[i].Count++
	s.entries[i].Last = now
	s.down(i)
}

// up adds a counter, which is smaller than all others, and returns its place.
func (s *sketch[K]) up(i int, e Entry[K]) int {
	s.entries = append(s.entries, e)
	for ; i > 0; i = (i - 1) / 2 {
		s.put(i, s.entries[(i-1)/2])
	}
	s.put(0, e)
	return 0
}

// down moves a counter that has grown to its place.
func (s *sketch[K]) down(i int) {
	grown := s.entries[i]
	for {
		child := 2*i + 1
		if child+1 < len(s.entries) && s.entries[child+1].Count < s.entries[child].Count {
			child++
		}
		if child >= len(s.entries) || s.entries[child].Count >= grown.Count {
			break
		}
		s.put(i, s.entries[child])
		i = child
	}
	s.put(i, grown)
}

// put keeps the index true.
func (s *sketch[K]) put(i int, e Entry[K]) { s.entries[i], s.index[e.Key] = e, i }
