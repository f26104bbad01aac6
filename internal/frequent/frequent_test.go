package frequent_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/frequent"
)

// A clock is set by the test.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newCounter(keys int) (*frequent.Counter[string], *clock) {
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return frequent.New[string](frequent.Config{Span: time.Hour, Keys: keys, Now: c.now}), c
}

func noteTimes(c *frequent.Counter[string], key string, times int) {
	for range times {
		c.Note(key)
	}
}

func TestTop(t *testing.T) {
	t.Parallel()
	c, clock := newCounter(10)
	noteTimes(c, "a", 3)
	clock.at = clock.at.Add(10 * time.Minute)
	noteTimes(c, "b", 5)
	noteTimes(c, "a", 4)
	top := c.Top(1)
	if want := (frequent.Entry[string]{Key: "a", Count: 7, Last: clock.at}); len(top) != 1 || top[0] != want {
		t.Errorf("the top is %+v, want %+v", top, want)
	}
	if n := len(c.Top(10)); n != 2 {
		t.Errorf("%d keys are told of, want 2", n)
	}
	if a, b, none := c.Count("a"), c.Count("b"), c.Count("c"); a != 7 || b != 5 || none != 0 {
		t.Errorf("the counts are %d, %d and %d", a, b, none)
	}
}

// What is older than the span is forgotten, and so is memory of it; Since says from when on counts are whole.
func TestSpan(t *testing.T) {
	t.Parallel()
	c, clock := newCounter(10)
	began := clock.at
	noteTimes(c, "a", 2)
	clock.at = began.Add(30 * time.Minute)
	noteTimes(c, "a", 3)
	if since := c.Since(); !since.Equal(began) {
		t.Errorf("half an hour after the start it counts since %v", since)
	}
	clock.at = began.Add(time.Hour)
	if n := c.Count("a"); n != 5 {
		t.Errorf("at the end of the span %d, want 5", n)
	}
	clock.at = began.Add(66 * time.Minute)
	if n := c.Count("a"); n != 3 {
		t.Errorf("after the span %d, want 3", n)
	}
	if since := c.Since(); !since.Equal(began.Add(6 * time.Minute)) {
		t.Errorf("it counts since %v", since)
	}
	clock.at = began.Add(3 * time.Hour)
	if top := c.Top(5); len(top) != 0 {
		t.Errorf("after hours %+v", top)
	}
}

// Within one slot no key that is told of is counted too low, nor too high by more than is said; the number of keys is bounded, and
// whoever makes up more than one part in it is told of.
func TestBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 5
		c, _ := newCounter(most)
		keys := rapid.SliceOf(rapid.IntRange(0, 12)).Draw(t, "keys")
		exact := map[string]int64{}
		for _, k := range keys {
			key := fmt.Sprint(k)
			exact[key]++
			c.Note(key)
		}
		top := c.Top(100)
		if len(top) > most {
			t.Fatalf("%d keys are held", len(top))
		}
		told := map[string]bool{}
		for _, e := range top {
			told[e.Key] = true
			if e.Count < exact[e.Key] || e.Count-e.Over > exact[e.Key] {
				t.Fatalf("%s is counted %d, at most %d too high; it is %d", e.Key, e.Count, e.Over, exact[e.Key])
			}
		}
		for key, n := range exact {
			if n > int64(len(keys)/most) && !told[key] {
				t.Fatalf("%s makes up %d of %d and is not told of", key, n, len(keys))
			}
		}
	})
}

func TestConcurrentNotes(t *testing.T) {
	t.Parallel()
	c := frequent.New[int](frequent.Config{Span: time.Hour, Keys: 50})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 1000 {
				c.Note(i % 10)
				c.Top(3)
			}
		})
	}
	all.Wait()
	for key := range 10 {
		if n := c.Count(key); n != 800 {
			t.Errorf("%d was counted %d times, want 800", key, n)
		}
	}
}
