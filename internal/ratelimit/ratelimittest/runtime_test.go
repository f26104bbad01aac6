package ratelimittest_test

import (
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
)

func rows() []ratelimit.Budget {
	limit := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 2, Window: time.Minute}
	return []ratelimit.Budget{
		{Name: "user", Limit: limit, Store: "redis", OnFailure: ratelimit.Open, Enforce: true},
		{Name: "edge", Limit: limit, Store: "memory", OnFailure: ratelimit.Local, Enforce: true},
	}
}

func TestUnlimitedNeverRefuses(t *testing.T) {
	t.Parallel()
	l := ratelimittest.Unlimited(t, rows()...)
	for range 10 {
		if d := l.Decide(t.Context(), ratelimit.Ask{Budget: "user", ID: "alice", Cost: 1}); d.Outcome != ratelimit.Allowed {
			t.Fatalf("got %+v", d)
		}
	}
	if d := l.Decide(t.Context(), ratelimit.Ask{Budget: "nothing", Cost: 1}); d.Err == nil {
		t.Error("a budget that is not in the table was let through")
	}
}

func TestOnClockRefusesUntilAdvanced(t *testing.T) {
	t.Parallel()
	l, clock := ratelimittest.OnClock(t, rows()...)
	alice := ratelimit.Ask{Budget: "user", ID: "alice", Cost: 2}
	for i, want := range []ratelimit.Outcome{ratelimit.Allowed, ratelimit.Denied, ratelimit.Allowed} {
		if i == 2 {
			clock.Advance(time.Minute)
		}
		if d := l.Decide(t.Context(), alice); d.Outcome != want {
			t.Errorf("call %d: got %v, want %v", i, d.Outcome, want)
		}
	}
}
