package ratelimit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// TestDenialsAreRepeated spends a budget: the store is asked once a second at most, and what is repeated is still true.
func TestDenialsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		l.Decide(t.Context(), asks("open", "local")...)
		l.Decide(t.Context(), ask("local", 2))
		before := l.store.asked()
		for i := range 100 {
			d := l.Decide(t.Context(), asks("open", "local", "closed")...)
			if d.Outcome != ratelimit.Denied || d.Repeated != (i%10 != 0) {
				t.Fatalf("call %d: %+v", i, d)
			}
			wait, ok := d.RetryAfter()
			if want := time.Minute - time.Duration(i)*100*time.Millisecond; !ok || wait != want {
				t.Fatalf("call %d: retry after %v, want %v", i, wait, want)
			}
			if d.Repeated && (len(d.Results) != 1 || d.Results[0].Budget.Name != "local" || d.Results[0].Verdict.Next != wait) {
				t.Fatalf("call %d: %+v", i, d.Results)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if asked := l.store.asked() - before; asked != 10 {
			t.Errorf("asked %d times in 10 s", asked)
		}
		time.Sleep(50 * time.Second)
		if d := l.Decide(t.Context(), asks("open", "local", "closed")...); d.Outcome != ratelimit.Allowed {
			t.Errorf("after the wait: %+v", d)
		}
	})
}

// TestDenialEndsWithItsReason admits at the very moment at which a unit leaves, less than a second after the denial.
func TestDenialEndsWithItsReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := setup(t)
		l.Decide(t.Context(), ask("open", 10))
		time.Sleep(59_700 * time.Millisecond)
		l.Decide(t.Context(), ask("open", 1))
		time.Sleep(300*time.Millisecond - time.Microsecond)
		if d := l.Decide(t.Context(), ask("open", 1)); !d.Repeated {
			t.Errorf("a moment before: %+v", d)
		}
		time.Sleep(time.Microsecond)
		if d := l.Decide(t.Context(), ask("open", 1)); d.Outcome != ratelimit.Allowed {
			t.Errorf("at the moment: %+v", d)
		}
	})
}

// TestDenialsAreDropped changes what a denial rests on: the next call is admitted at once.
func TestDenialsAreDropped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(ctx context.Context, l *testBundle, spent ratelimit.Decision)
		ask    ratelimit.Ask
	}{
		{"given back", func(ctx context.Context, l *testBundle, spent ratelimit.Decision) { l.GiveBack(ctx, spent) }, ask("open", 2)},
		{"settled", func(ctx context.Context, l *testBundle, spent ratelimit.Decision) { l.Settle(ctx, spent, "open", 7) }, ask("open", 2)},
		{"reset", func(ctx context.Context, l *testBundle, _ ratelimit.Decision) {
			if err := l.Reset(ctx, "open", "acme", "alice"); err != nil {
				panic(err)
			}
		}, ask("open", 2)},
		{"another limit", func(context.Context, *testBundle, ratelimit.Decision) {}, ratelimit.Ask{
			Budget: "open", Group: "acme", ID: "alice", Cost: 2, Subject: ratelimit.Subject{Plan: "team"},
		}},
		{"a cheaper cost", func(context.Context, *testBundle, ratelimit.Decision) {}, ask("open", 1)},
		{"another key", func(context.Context, *testBundle, ratelimit.Decision) {}, ratelimit.Ask{Budget: "open", Group: "acme", ID: "bob", Cost: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t, func(c *ratelimit.Config) { c.Resolve = teamHas(20) })
			spent := l.Decide(t.Context(), ask("open", 9))
			for i := range 2 {
				if d := l.Decide(t.Context(), ask("open", 2)); d.Outcome != ratelimit.Denied || d.Repeated != (i == 1) {
					t.Fatalf("denial %d: %+v", i, d)
				}
			}
			tt.change(t.Context(), l, spent)
			if d := l.Decide(t.Context(), tt.ask); d.Outcome != ratelimit.Allowed {
				t.Errorf("got %+v", d)
			}
		})
	}
}

// TestDenialsLeaveShadowsAndLooksAlone asks the store where it must be asked.
func TestDenialsLeaveShadowsAndLooksAlone(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.Decide(t.Context(), ask("open", 10))
	for range 2 {
		l.Decide(t.Context(), ask("open", 1))
	}
	for _, a := range [][]ratelimit.Ask{asks("open", "shadow"), {ask("open", 0)}} {
		before := l.store.asked()
		if d := l.Decide(t.Context(), a...); d.Repeated || l.store.asked() != before+1 {
			t.Errorf("%+v was not asked: %+v", a, d)
		}
	}
	for range 3 {
		if d := l.Decide(t.Context(), ask("open", 11)); d.Repeated {
			t.Errorf("a cost that never fits was remembered: %+v", d)
		}
	}
}

func TestResetFaults(t *testing.T) {
	t.Parallel()
	l := setup(t)
	if err := l.Reset(t.Context(), "nothing", "acme", "alice"); err == nil {
		t.Error("reset a budget that is not in the table")
	}
}

// TestResetReachesLocalCounts resets what an outage counted in this process.
func TestResetReachesLocalCounts(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.store.set(func(s *faultyStore) { s.err = errDown })
	l.Decide(t.Context(), ask("local", 3))
	if err := l.Reset(t.Context(), "local", "acme", "alice"); err != nil {
		t.Error(err)
	}
	if d := l.Decide(t.Context(), ask("local", 3)); d.Outcome != ratelimit.Allowed {
		t.Errorf("got %+v", d)
	}
}

// BenchmarkRepeatedDenial measures a refusal that the store is not asked for.
func BenchmarkRepeatedDenial(b *testing.B) {
	l := setup(b)
	var d ratelimit.Decision
	a := asks("open")
	for range 12 {
		l.DecideInto(b.Context(), &d, a...)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.DecideInto(b.Context(), &d, a...)
	}
}
