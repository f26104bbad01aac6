package allowance_test

import (
	"testing"
	"time"

	"example.com/gatehouse/internal/allowance"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
	"example.com/gatehouse/internal/ratelimit/redis"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

// Another limit keeps what was counted: 60 used of 100, lowered to 50, leaves none; raised to 200 it leaves 140. The
// credential has no part in it: the subject is the same throughout.
func TestHistoryIsKept(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) ratelimit.Store{
		"memory": func(t *testing.T) ratelimit.Store {
			t.Helper()
			s := memory.New(memory.Config{})
			t.Cleanup(s.Close)
			return s
		},
		"redis": func(t *testing.T) ratelimit.Store {
			t.Helper()
			s, err := redis.New(redis.Config{URL: redistest.Start(t).URL + "?read_timeout=2s", Secret: make([]byte, 32)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	}
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase()
			b := d.book()
			budget := user()
			budget.Store, budget.OnFailure = name, ratelimit.Open
			l, err := ratelimit.New(ratelimit.Config{
				Budgets: []ratelimit.Budget{*budget}, Stores: map[string]ratelimit.Store{name: newStore(t)},
				Resolve: b.Resolve, Timeout: 5 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			checkHistory(t, l, d, b)
		})
	}
}

func checkHistory(t *testing.T, l *ratelimit.Limiter, d *database, b *allowance.Book) {
	t.Helper()
	ask := func(cost int64) ratelimit.Decision {
		return l.Decide(t.Context(), ratelimit.Ask{Budget: "user", Group: "acme", ID: "alice", Cost: cost, Subject: alice()})
	}
	if got := ask(60); got.Outcome != ratelimit.Allowed || got.Results[0].Verdict.Remaining != 40 {
		t.Fatalf("60 of 100: %+v", got)
	}
	for _, step := range []struct{ limit, left int64 }{{50, 0}, {200, 140}, {100, 40}} {
		d.set("organisation/acme", limitOf(step.limit))
		b.Forget("organisation", "acme")
		if r := ask(0).Results[0]; r.Verdict.Remaining != step.left || r.Limit.N != step.limit || r.Source != "organisation" {
			t.Errorf("with the limit %d %d are left, want %d: %+v", step.limit, r.Verdict.Remaining, step.left, r)
		}
	}
	d.set("organisation/acme", limitOf(50))
	b.Forget("organisation", "acme")
	if got := ask(1); got.Outcome != ratelimit.Denied {
		t.Errorf("one more of 50 with 60 used: %+v", got)
	}
	d.set("organisation/acme")
	b.Forget("organisation", "acme")
	if got := ask(40); got.Outcome != ratelimit.Allowed { // Whatever was refused a moment ago.
		t.Errorf("40 more of 100 with 60 used: %+v", got)
	}
}
