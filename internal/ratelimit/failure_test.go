package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

// TestModes has the store down: each budget does what its row says, and nothing makes up a denial.
func TestModes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		budgets []string
		calls   int // The calls before the one that is looked at.
		outcome ratelimit.Outcome
		counted []bool
		left    []int64
	}{
		{"open", []string{"open"}, 20, ratelimit.Allowed, []bool{false}, []int64{10}},
		{"local, within the limit", []string{"local"}, 2, ratelimit.Allowed, []bool{true}, []int64{0}},
		{"local, beyond it", []string{"local"}, 3, ratelimit.Denied, []bool{true}, []int64{0}},
		{"closed", []string{"closed"}, 0, ratelimit.Unavailable, []bool{false}, []int64{10}},
		{"open and local, beyond it", []string{"open", "local"}, 3, ratelimit.Denied, []bool{false, true}, []int64{10, 0}},
		{"a closed one beside a local one spends nothing of it", []string{"local", "closed"}, 5, ratelimit.Unavailable, []bool{false, false}, []int64{3, 10}},
		{"a closed shadow", []string{"shadow", "open"}, 5, ratelimit.Allowed, []bool{false, false}, []int64{2, 10}},
		{"unlimited only", []string{"unlimited"}, 5, ratelimit.Allowed, []bool{false}, []int64{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			l.store.set(func(s *faultyStore) { s.err = errDown })
			for range tt.calls {
				l.Decide(t.Context(), asks(tt.budgets...)...)
			}
			d := l.Decide(t.Context(), asks(tt.budgets...)...)
			if d.Outcome != tt.outcome || d.Err != nil {
				t.Fatalf("got %v, %v, want %v", d.Outcome, d.Err, tt.outcome)
			}
			for i, r := range d.Results {
				if r.Counted != tt.counted[i] || r.Verdict.Remaining != tt.left[i] || r.Degraded == r.Unlimited {
					t.Errorf("result %d: %+v", i, r)
				}
				if want := map[bool]string{true: ratelimit.LocalStore, false: "shared"}[r.Counted]; r.Store != want {
					t.Errorf("result %d is counted in %s, want %s", i, r.Store, want)
				}
			}
		})
	}
}

// TestLocalCountsAreGivenBackLocally gives back what an outage counted here.
func TestLocalCountsAreGivenBackLocally(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.store.set(func(s *faultyStore) { s.err = errDown })
	d := l.Decide(t.Context(), ask("local", 3))
	l.GiveBack(t.Context(), d)
	if d := l.Decide(t.Context(), ask("local", 3)); d.Outcome != ratelimit.Allowed {
		t.Errorf("got %+v", d)
	}
}

// TestBreaker takes a store down and up again: three failures open the breaker, then one probe at a time goes out and
// the others wait for nothing; a probe that succeeds applies the budgets again.
func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		l.Decide(t.Context(), ask("open", 10))
		l.store.set(func(s *faultyStore) { s.hang = true })
		for i := range 3 {
			if took := timed(func() { l.Decide(t.Context(), ask("open", 1)) }); took != 50*time.Millisecond {
				t.Errorf("failing call %d took %v, want the deadline", i, took)
			}
		}
		before := l.store.asked()
		if took := timed(func() { decideMany(t, l, 1000) }); took != 0 {
			t.Errorf("calls past an open breaker took %v", took)
		}
		if asked := l.store.asked() - before; asked != 0 {
			t.Errorf("%d calls went out past an open breaker", asked)
		}

		time.Sleep(500 * time.Millisecond)
		before = l.store.asked()
		decideMany(t, l, 1000)
		if asked := l.store.asked() - before; asked != 1 || l.store.most != 1 {
			t.Errorf("%d probes, %d at once, want one", asked, l.store.most)
		}

		l.store.set(func(s *faultyStore) { s.hang = false })
		time.Sleep(500 * time.Millisecond)
		if d := l.Decide(t.Context(), ask("open", 1)); d.Outcome != ratelimit.Denied {
			t.Errorf("after the store is back: %+v", d)
		}
		if want := []bool{true, false}; len(l.journal.events) != 2 || l.journal.events[0] != want[0] || l.journal.events[1] != want[1] {
			t.Errorf("breaker: %v, want %v", l.journal.events, want)
		}
	})
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// decideMany makes n calls at once and insists that all are let through.
func decideMany(t *testing.T, l *testBundle, n int) {
	t.Helper()
	var wg sync.WaitGroup
	var refused atomic.Int64
	for range n {
		wg.Go(func() {
			if d := l.Decide(t.Context(), ask("open", 1)); d.Outcome != ratelimit.Allowed {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if refused.Load() > 0 {
		t.Errorf("%d of %d were refused", refused.Load(), n)
	}
}

// TestProbesWrite has an open breaker meet looks only: none is sent, since a store that only reads counts nothing.
func TestProbesWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		l.store.set(func(s *faultyStore) { s.err = errDown })
		for range 3 {
			l.Decide(t.Context(), ask("open", 1))
		}
		l.store.set(func(s *faultyStore) { s.err = nil })
		time.Sleep(time.Hour)
		before := l.store.asked()
		if d := l.Look(t.Context(), ask("open", 0)); !d.Results[0].Degraded || l.store.asked() != before {
			t.Errorf("a look went out as a probe: %+v", d)
		}
		l.Decide(t.Context(), ask("open", 1))
		if d := l.Look(t.Context(), ask("open", 0)); d.Results[0].Degraded || d.Results[0].Verdict.Remaining != 9 {
			t.Errorf("after a probe: %+v", d)
		}
	})
}

// TestOutageIsReportedOnce reports one outage a budget, with its count at the end.
func TestOutageIsReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		l.store.set(func(s *faultyStore) { s.err = errDown })
		for range 50 {
			l.Decide(t.Context(), asks("open", "local")...)
			time.Sleep(100 * time.Millisecond)
		}
		l.store.set(func(s *faultyStore) { s.err = nil })
		for range 20 {
			l.Decide(t.Context(), asks("open", "local")...)
			time.Sleep(100 * time.Millisecond)
		}
		if len(l.journal.began) != 2 || len(l.journal.ended) != 2 {
			t.Fatalf("began %+v, ended %+v", l.journal.began, l.journal.ended)
		}
		for i, o := range l.journal.ended {
			if want := l.journal.count(o.Budget.Name+" failed open") + l.journal.count(o.Budget.Name+" local"); o.Decisions != want || want < 50 {
				t.Errorf("%s: %d decisions, counted %d", o.Budget.Name, o.Decisions, want)
			}
			if o.Ended != ratelimit.EndedByAnswer || !errors.Is(o.Err, errDown) || !o.Began.Equal(l.journal.began[i].Began) {
				t.Errorf("%s: %+v", o.Budget.Name, o)
			}
		}
	})
}

// TestHalfBrokenStoreIsOneOutage has every other call fail.
func TestHalfBrokenStoreIsOneOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		for i := range 100 {
			l.store.set(func(s *faultyStore) { s.err = map[bool]error{true: errDown}[i%2 == 0] })
			l.Decide(t.Context(), ratelimit.Ask{Budget: "open", ID: strconv.Itoa(i), Cost: 1})
			time.Sleep(10 * time.Millisecond)
		}
		l.Close()
		if len(l.journal.began) != 1 || len(l.journal.ended) != 1 || l.journal.ended[0].Decisions != 50 || l.journal.ended[0].Ended != ratelimit.EndedByClose {
			t.Errorf("began %+v, ended %+v", l.journal.began, l.journal.ended)
		}
	})
}

// TestCallersWhoHangUp cancel before and during the call: the charge is made, and the breaker stays closed.
func TestCallersWhoHangUp(t *testing.T) {
	t.Parallel()
	l := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if d := l.Decide(ctx, ask("open", 1)); d.Results[0].Degraded {
			t.Fatalf("got %+v", d)
		}
	}
	if d := l.Decide(t.Context(), ask("open", 1)); d.Outcome != ratelimit.Denied {
		t.Errorf("got %+v", d)
	}
}

// TestKeyFault has one key's stored value of a wrong shape: its budget alone falls back, the others hold.
func TestKeyFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault   string
		budgets []string
		outcome ratelimit.Outcome
		left    int64 // Of the open budget afterwards, of 10, after 4 calls.
	}{
		{"shadow", []string{"open", "shadow"}, ratelimit.Allowed, 6},
		{"closed", []string{"open", "closed"}, ratelimit.Unavailable, 10},
		{"local", []string{"open", "local"}, ratelimit.Denied, 7},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			l.store.set(func(s *faultyStore) { s.faultKey = tt.fault })
			var d ratelimit.Decision
			for range 4 {
				d = l.Decide(t.Context(), asks(tt.budgets...)...)
			}
			if d.Outcome != tt.outcome || d.Results[0].Degraded || !d.Results[1].Degraded {
				t.Errorf("got %v: %+v", d.Outcome, d.Results)
			}
			if got := l.Look(t.Context(), ask("open", 0)).Results[0].Verdict.Remaining; got != tt.left {
				t.Errorf("%d left of open, want %d: a refusal spends none", got, tt.left)
			}
			if len(l.journal.faults) != 1 || len(l.journal.began) != 0 || len(l.journal.events) != 0 {
				t.Errorf("faults %v, outages %v, breaker %v", l.journal.faults, l.journal.began, l.journal.events)
			}
			if said := fmt.Sprint(l.journal.faults); !strings.Contains(said, tt.fault+" of alice: ") {
				t.Errorf("the key of the fault is told as %s", said)
			}
		})
	}
}

// TestNoRoomToCountLocally lets a key through that the local store has no room for, and says so.
func TestNoRoomToCountLocally(t *testing.T) {
	t.Parallel()
	full := memory.New(memory.Config{Keys: 1})
	t.Cleanup(full.Close)
	l := setup(t, func(c *ratelimit.Config) { c.Local = full })
	l.store.set(func(s *faultyStore) { s.err = errDown })
	for range 4 {
		l.Decide(t.Context(), ask("local", 1))
	}
	d := l.Decide(t.Context(), ratelimit.Ask{Budget: "local", ID: "bob", Cost: 1})
	if d.Outcome != ratelimit.Allowed || d.Results[0].Counted || l.journal.count("local failed open") != 1 {
		t.Errorf("got %+v", d)
	}
}

// TestKeyFaultBesideARefusal is a denial that the store did say.
func TestKeyFaultBesideARefusal(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.Decide(t.Context(), ask("open", 10))
	l.store.set(func(s *faultyStore) { s.faultKey = "closed" })
	d := l.Decide(t.Context(), asks("open", "closed")...)
	if _, ok := d.RetryAfter(); d.Outcome != ratelimit.Denied || !ok {
		t.Errorf("got %+v", d)
	}
}

// TestGiveBackInAnOutage is sent at most once, and not at all past an open breaker.
func TestGiveBackInAnOutage(t *testing.T) {
	t.Parallel()
	l := setup(t)
	first, second := l.Decide(t.Context(), ask("open", 1)), l.Decide(t.Context(), ask("open", 1))
	l.store.set(func(s *faultyStore) { s.err = errDown })
	l.GiveBack(t.Context(), first)
	for range 3 {
		l.Decide(t.Context(), ask("open", 1))
	}
	l.GiveBack(t.Context(), second)
	l.store.set(func(s *faultyStore) { s.err = nil })
	l.GiveBack(t.Context(), first)
	l.GiveBack(t.Context(), second)
	if l.store.returns != 1 || l.journal.count("open given back") != 0 {
		t.Errorf("%d sent, %d counted as given back", l.store.returns, l.journal.count("open given back"))
	}
}

// A look in an outage decides nothing, so it is neither counted nor an outage's beginning.
func TestLookInAnOutageCountsNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.store.set(func(s *faultyStore) { s.err = errDown })
	for range 10 {
		if d := l.Look(t.Context(), ask("open", 0)); d.Outcome != ratelimit.Allowed || !d.Results[0].Degraded {
			t.Fatalf("%+v", d)
		}
	}
	if l.journal.count("open failed open") != 0 || len(l.journal.began) != 0 {
		t.Errorf("counted %v, began %v", l.journal.counts, l.journal.began)
	}
}

// BenchmarkOutage measures what a decision costs past an open breaker. Of a thousand decisions a second two are probes,
// which wait for the store to the deadline at most: p99-ns is what the others see.
func BenchmarkOutage(b *testing.B) {
	s := &faultyStore{err: errDown}
	l, err := ratelimit.New(ratelimit.Config{
		Budgets: []ratelimit.Budget{{Name: "open", Limit: perMinute(10), Store: "shared", OnFailure: ratelimit.Open, Enforce: true}},
		Stores:  map[string]ratelimit.Store{"shared": s},
	})
	if err != nil {
		b.Fatal(err)
	}
	var d ratelimit.Decision
	a := asks("open")
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		l.DecideInto(context.Background(), &d, a...)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
}
