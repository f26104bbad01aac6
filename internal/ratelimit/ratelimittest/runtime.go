package ratelimittest

import (
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

// Unlimited is a limiter with the rows given that never refuses and counts nothing: for tests of what lies behind it.
func Unlimited(tb testing.TB, budgets ...ratelimit.Budget) *ratelimit.Limiter {
	tb.Helper()
	rows := make([]ratelimit.Budget, len(budgets))
	for i, b := range budgets {
		b.Unlimited = true
		rows[i] = b
	}
	l, _ := OnClock(tb, rows...)
	return l
}

// OnClock is a limiter with the rows given that counts in memory, whatever stores they name, by a clock that stands
// still until the test advances it: for tests that want to see a refusal and its end.
func OnClock(tb testing.TB, budgets ...ratelimit.Budget) (*ratelimit.Limiter, *Clock) {
	tb.Helper()
	clock := new(Clock)
	store := memory.New(memory.Config{Clock: clock.Elapsed})
	tb.Cleanup(store.Close)
	stores := map[string]ratelimit.Store{}
	for _, b := range budgets {
		stores[b.Store] = store
	}
	l, err := ratelimit.New(ratelimit.Config{Budgets: budgets, Stores: stores, Local: store, Now: clock.Now})
	if err != nil {
		tb.Fatalf("make limiter: %v", err)
	}
	tb.Cleanup(l.Close)
	return l, clock
}

// A Clock is set by hand. It begins at 0 and is safe for concurrent use.
type Clock struct{ elapsed atomic.Int64 }

// Advance moves the clock, backwards too.
func (c *Clock) Advance(d time.Duration) { c.elapsed.Add(int64(d)) }

// Elapsed is how far the clock was moved in all.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.elapsed.Load()) }

// Now is the clock as a time of day.
func (c *Clock) Now() time.Time { return time.Unix(0, 0).UTC().Add(c.Elapsed()) }
