package ratelimit_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// with is the table with one row changed.
func with(name string, change func(*ratelimit.Budget)) []ratelimit.Budget {
	budgets := table()
	for i := range budgets {
		if budgets[i].Name == name {
			change(&budgets[i])
		}
	}
	return budgets
}

func reload(t *testing.T, l *testBundle, budgets []ratelimit.Budget) {
	t.Helper()
	if err := l.Reload(budgets); err != nil {
		t.Fatal(err)
	}
}

// A reload changes numbers and keeps history; a refusal of a moment ago does not outlive the number that it came from.
func TestReloadKeepsHistory(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.Decide(t.Context(), ask("open", 6))
	if d := l.Decide(t.Context(), ask("open", 6)); d.Outcome != ratelimit.Denied {
		t.Fatalf("12 of 10 fit: %+v", d)
	}
	hash := l.TableHash()
	for _, step := range []struct{ limit, left int64 }{{5, 0}, {20, 14}, {10, 4}} {
		reload(t, l, with("open", func(b *ratelimit.Budget) { b.Limit.N, b.Source = step.limit, "file" }))
		d := l.Look(t.Context(), ask("open", 0))
		if r := d.Results[0]; r.Verdict.Remaining != step.left || r.Limit.N != step.limit || r.Source != "file" {
			t.Errorf("of %d %d are left, from %s; want %d", step.limit, r.Verdict.Remaining, r.Source, step.left)
		}
		if same := l.TableHash() == hash; same != (step.limit == 10) {
			t.Errorf("with the limit %d the table's hash is the same: %v", step.limit, same)
		}
	}
	reload(t, l, with("open", func(b *ratelimit.Budget) { b.Limit.N = 20 }))
	if d := l.Decide(t.Context(), ask("open", 6)); d.Outcome != ratelimit.Allowed {
		t.Errorf("a refusal is repeated that a raised limit ended: %+v", d)
	}
}

// A table that cannot be in force changes nothing, and all that is wrong with it is said.
func TestReloadRefusesABadTable(t *testing.T) {
	t.Parallel()
	l := setup(t)
	err := l.Reload(with("open", func(b *ratelimit.Budget) { b.Limit.N, b.Store = -1, "etcd" }))
	if err == nil || !strings.Contains(err.Error(), "is negative") || !strings.Contains(err.Error(), `store "etcd" is unknown`) {
		t.Errorf("got %v", err)
	}
	if d := l.Look(t.Context(), ask("open", 0)); d.Results[0].Limit.N != 10 {
		t.Errorf("the limit is %d", d.Results[0].Limit.N)
	}
}

// An outage is one, however often the numbers change meanwhile; one of a mode that is no longer ends with it.
func TestReloadInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		l.store.set(func(s *faultyStore) { s.err = errDown })
		l.Decide(t.Context(), ask("open", 1))
		l.Decide(t.Context(), ask("local", 1))
		for n := range int64(3) {
			reload(t, l, with("open", func(b *ratelimit.Budget) { b.Limit.N = 20 + n }))
			l.Decide(t.Context(), ask("open", 1))
		}
		if n := len(l.journal.began); n != 2 || len(l.journal.ended) != 0 {
			t.Errorf("%d outages began and %d ended, want those of two budgets and no end", n, len(l.journal.ended))
		}
		if o := l.Outages(); len(o) != 2 || o[0].Budget.Name != "open" || o[0].Decisions != 4 {
			t.Errorf("the outages are %+v", o)
		}
		reload(t, l, with("local", func(b *ratelimit.Budget) { b.OnFailure = ratelimit.Closed }))
		if n := len(l.journal.ended); n != 1 || l.journal.ended[0].Budget.Name != "local" || l.journal.ended[0].Ended != ratelimit.EndedByChange {
			t.Errorf("ended: %+v", l.journal.ended)
		}
		if d := l.Decide(t.Context(), ask("local", 1)); d.Outcome != ratelimit.Unavailable {
			t.Errorf("with another mode %v", d.Outcome)
		}
		l.store.set(func(s *faultyStore) { s.err = nil })
		time.Sleep(time.Second)
		l.Decide(t.Context(), ask("open", 1)) // The probe, if the breaker is open.
		time.Sleep(time.Second)
		l.Decide(t.Context(), ask("open", 1))
		if n := len(l.journal.ended); n != 3 {
			t.Errorf("after the store is back %d outages ended, want 3: %+v", n, l.journal.ended)
		}
		if o := l.Outages(); len(o) != 0 {
			t.Errorf("still out: %+v", o)
		}
	})
}

// Decisions and reloads meet without a race, and each decision is by one row or the other.
func TestReloadWhileDeciding(t *testing.T) {
	t.Parallel()
	l := setup(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if d := l.Decide(t.Context(), ask("edge", 1)); d.Err != nil {
					t.Errorf("decide: %v", d.Err)
				}
			}
		})
	}
	for n := range int64(50) {
		reload(t, l, with("edge", func(b *ratelimit.Budget) { b.Limit.N = 1 + n }))
	}
	all.Wait()
	if d := l.Look(t.Context(), ask("edge", 0)); d.Results[0].Limit.N != 50 {
		t.Errorf("the last table is not in force: %+v", d.Results[0])
	}
}

// A reset on another process ends what this one holds by itself: counts in memory, and refusals that it would repeat.
func TestResetHere(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.Decide(t.Context(), ask("edge", 100))
	if err := l.ResetHere(t.Context(), "edge", "acme", "alice"); err != nil {
		t.Fatal(err)
	}
	if d := l.Decide(t.Context(), ask("edge", 100)); d.Outcome != ratelimit.Allowed {
		t.Errorf("what is counted here was not reset: %+v", d)
	}
	l.Decide(t.Context(), ask("open", 10))
	l.Decide(t.Context(), ask("open", 1)) // Refused, and remembered.
	if err := l.store.inner.Reset(t.Context(), ratelimit.Key{Budget: "open", Group: "acme", ID: "alice"}); err != nil {
		t.Fatal(err)
	}
	before := l.Stores()
	if err := l.ResetHere(t.Context(), "open", "acme", "alice"); err != nil {
		t.Fatal(err)
	}
	if d := l.Decide(t.Context(), ask("open", 1)); d.Outcome != ratelimit.Allowed || d.Repeated {
		t.Errorf("the refusal is still repeated: %+v", d)
	}
	for i, after := range l.Stores() {
		if grew := after.Epoch > before[i].Epoch; grew != (after.Name == "shared") || after.BreakerOpen {
			t.Errorf("store %+v was %+v", after, before[i])
		}
	}
	if err := l.ResetHere(t.Context(), "nothing", "acme", "alice"); err == nil {
		t.Error("a budget that is not in the table was reset")
	}
}

func TestOpenBreakerIsTold(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.store.set(func(s *faultyStore) { s.err = errDown })
	for range 3 {
		l.Decide(t.Context(), ask("open", 1))
	}
	for _, s := range l.Stores() {
		if s.BreakerOpen != (s.Name == "shared") {
			t.Errorf("%+v", s)
		}
	}
}
