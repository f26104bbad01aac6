package memory_test

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

// A span is the time in which a call was admitted: somewhere between its start and its end.
type span struct{ began, ended time.Time }

// TestNeverOverUnderContention has goroutines fight for two keys on the real clock, in calls that take one or both. No
// limit+1 calls may be admitted that lie, from the first's start to the last's end, within one window.
func TestNeverOverUnderContention(t *testing.T) {
	t.Parallel()
	const limit, calls, goroutines = 5, 20_000, 8
	window := ratelimit.MinWindow
	s := open(t, memory.Config{})
	first := ratelimit.Charge{Key: key(1), Limit: sliding(limit, window), Cost: 1}
	second := ratelimit.Charge{Key: key(2), Limit: sliding(limit, window), Cost: 1}
	kinds := [][]ratelimit.Charge{{first}, {second}, {first, second}, {second, first}}
	var mu sync.Mutex
	admitted := map[ratelimit.Key][]span{}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			charges := kinds[g%len(kinds)]
			for range calls {
				a := span{began: time.Now()}
				v, err := s.Take(t.Context(), charges)
				a.ended = time.Now()
				if err != nil {
					t.Error(err)
					return
				}
				if slices.ContainsFunc(v, func(v ratelimit.Verdict) bool { return !v.OK }) {
					continue
				}
				mu.Lock()
				for _, c := range charges {
					admitted[c.Key] = append(admitted[c.Key], a)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for k, spans := range admitted {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.ended.UnixNano(), b.ended.UnixNano()) })
		for i := range len(spans) - limit {
			if over := spans[i+limit].ended.Sub(earliest(spans[i : i+limit+1])); over < window-time.Microsecond {
				t.Errorf("%v: %d admitted within %v", k, limit+1, over)
			}
		}
	}
	if n := len(admitted[first.Key]); n < 2*limit {
		t.Errorf("only %d admitted", n)
	}
}

func earliest(spans []span) time.Time {
	return slices.MinFunc(spans, func(a, b span) int { return a.began.Compare(b.began) }).began
}

// TestTwoThousandAtOnce has 2 000 goroutines share a limit of 100.
func TestTwoThousandAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, memory.Config{})
	start := make(chan struct{})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 2000 {
		wg.Go(func() {
			<-start
			v, err := s.Take(t.Context(), []ratelimit.Charge{{Key: key(1), Limit: sliding(100, time.Hour), Cost: 1}})
			if err != nil {
				t.Error(err)
				return
			}
			if v[0].OK {
				admitted.Add(1)
			}
		})
	}
	close(start)
	wg.Wait()
	if got := admitted.Load(); got != 100 {
		t.Errorf("%d admitted, want 100", got)
	}
}
