// Package ratelimittest holds what every ratelimit.Store must keep: a suite that runs against any store, with an exact
// oracle, and a limiter for the tests of those who use one.
package ratelimittest

import (
	"context"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// A Harness is one store under test, and what the suite may do with it.
type Harness struct {
	// Store is a fresh store, or one with other tests' keys in it: the suite never uses a key twice.
	Store ratelimit.Store
	// Others are more processes' handles on the same counters, if they can be shared. The suite uses all at once.
	Others []ratelimit.Store
	// Advance moves the store's clock, backwards too; nil if the clock cannot be injected. The suite then keeps to
	// windows so long that nothing leaves, and waits in earnest where the release itself is tested.
	Advance func(time.Duration)
	// BucketLate is how much later than exactly a TokenBucket may admit, because its store rounds.
	BucketLate time.Duration
	// Algorithms are the ones to test; nil means all that the store supports.
	Algorithms []ratelimit.Algorithm
}

// Run runs the suite. open is called once for each test, which may run in parallel with others.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"a charge is counted", testCounted},
		{"all or none of several budgets", testAllOrNone},
		{"partial charges never happen", testNoPartialCharge},
		{"exactly the limit under concurrency", testConcurrent},
		{"keys in any order do not deadlock", testOpposedOrders},
		{"a look records nothing", testLook},
		{"a denied call changes nothing", testDeniedChangesNothing},
		{"a sliding window holds around its boundary", testBoundary},
		{"units leave at exactly the window's end", testRelease},
		{"units leave in earnest", testReleaseInEarnest},
		{"a clock set back freezes nothing", testClockBack},
		{"a clock that jumps ahead and back", testClockAhead},
		{"costs that never fit", testNeverFits},
		{"faulty charges", testFaultyCharges},
		{"a limit of 0", testLimitZero},
		{"a changed limit keeps the history", testLimitChange},
		{"giving back", testGiveBack},
		{"giving back late", testGiveBackLate},
		{"settling", testSettle},
		{"shadows never refuse", testShadow},
		{"keys are told apart", testKeys},
		{"reset forgets", testReset},
		{"a cancelled caller", testCancelled},
		{"random calls equal the oracle", testSequences},
		{"random calls with steps of the clock", testSteps},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, newBench(open(t)))
		})
	}
}

// A bench is a harness with what the tests need around it.
type bench struct {
	Harness

	algorithms []ratelimit.Algorithm
	now        time.Duration // On the injected clock.
	began      time.Time
}

func newBench(h Harness) *bench {
	b := &bench{Harness: h, algorithms: h.Algorithms, began: time.Now()}
	if b.algorithms == nil {
		b.algorithms = Supported(h.Store)
	}
	return b
}

// Supported are the algorithms that the store counts by.
func Supported(store ratelimit.Store) []ratelimit.Algorithm {
	all := []ratelimit.Algorithm{ratelimit.SlidingLog, ratelimit.Segments, ratelimit.TokenBucket, ratelimit.FixedWindow}
	s, ok := store.(ratelimit.Selective)
	if !ok {
		return all
	}
	return slices.DeleteFunc(all, func(a ratelimit.Algorithm) bool { return !s.Supports(a) })
}

func (b *bench) advance(d time.Duration) {
	b.now += d
	b.Advance(d)
}

// clocked skips nothing: it ends a test that has no meaning for a store whose clock cannot be injected, which the
// tests in earnest cover instead.
func (b *bench) clocked() bool { return b.Advance != nil }

// eachAlgorithm runs the test for each algorithm of the store.
func (b *bench) eachAlgorithm(t *testing.T, run func(*testing.T, ratelimit.Limit)) {
	t.Helper()
	for _, a := range b.algorithms {
		t.Run(a.String(), func(t *testing.T) { run(t, limitOf(a, 10, time.Minute)) })
	}
}

// limitOf is a limit of n, in the window or refilled within it.
func limitOf(a ratelimit.Algorithm, n int64, window time.Duration) ratelimit.Limit {
	if a == ratelimit.TokenBucket {
		return ratelimit.Limit{Algorithm: a, N: n, Refill: max(1, n*int64(time.Second)/int64(window))}
	}
	return ratelimit.Limit{Algorithm: a, N: n, Window: window}
}

// newKey is a key that no test used before, in the group that all tests' keys of one call share.
func newKey(budget string) ratelimit.Key {
	return ratelimit.Key{Budget: budget, Group: "suite", ID: rand.Text()}
}

func charge(k ratelimit.Key, l ratelimit.Limit, cost int64) ratelimit.Charge {
	return ratelimit.Charge{Key: k, Limit: l, Cost: cost}
}

// fatal is the part of testing.TB that rapid has too.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// take asks the store and insists on an answer of the right form.
func (b *bench) take(t fatal, charges ...ratelimit.Charge) []ratelimit.Verdict {
	t.Helper()
	verdicts, err := b.Store.Take(context.Background(), charges)
	if err != nil {
		t.Fatalf("take %+v: %v", charges, err)
	}
	if len(verdicts) != len(charges) {
		t.Fatalf("%d verdicts to %d charges", len(verdicts), len(charges))
	}
	for i, c := range charges {
		checkForm(t, c, verdicts[i])
	}
	return verdicts
}

func (b *bench) one(t fatal, k ratelimit.Key, l ratelimit.Limit, cost int64) ratelimit.Verdict {
	t.Helper()
	return b.take(t, charge(k, l, cost))[0]
}

// checkForm holds what is true of every verdict.
func checkForm(t fatal, c ratelimit.Charge, v ratelimit.Verdict) {
	t.Helper()
	n, most := c.Limit.N, c.Limit.Span()
	if c.Limit.Algorithm == ratelimit.TokenBucket {
		most = ratelimit.MaxWindow // A bucket whose capacity was lowered may owe more than it holds.
	}
	switch {
	case v.Err != nil:
		t.Errorf("%+v: fault of the key: %v", c, v.Err)
	case v.Remaining < 0 || v.Remaining > n:
		t.Errorf("%+v: remaining %d is outside 0 to %d", c, v.Remaining, n)
	case v.Next < 0 || v.Next > most:
		t.Errorf("%+v: next %v is outside 0 to %v", c, v.Next, most)
	case c.Cost == 0 && !v.OK:
		t.Errorf("%+v: a look was refused", c)
	case v.OK && v.Retry != 0:
		t.Errorf("%+v: fits, yet retry is %v", c, v.Retry)
	case !v.OK && c.Cost > n && v.Retry != ratelimit.Never:
		t.Errorf("%+v: never fits, yet retry is %v", c, v.Retry)
	case !v.OK && c.Cost <= n && (v.Retry <= 0 || v.Retry > most):
		t.Errorf("%+v: retry %v is outside (0, %v]", c, v.Retry, most)
	case v.Receipt.Cost != 0 && v.Receipt.Cost != c.Cost:
		t.Errorf("%+v: receipt says cost %d", c, v.Receipt.Cost)
	}
}

// spend takes n units one by one and insists that all are admitted.
func (b *bench) spend(t fatal, k ratelimit.Key, l ratelimit.Limit, n int64) {
	t.Helper()
	for i := range n {
		if v := b.one(t, k, l, 1); !v.OK || !b.left(v, l, l.N-i-1) {
			t.Fatalf("unit %d of %d: %+v", i+1, n, v)
		}
	}
}

// refused says that the verdict is a refusal, or that so much time has passed that units may have left.
func (b *bench) refused(v ratelimit.Verdict, l ratelimit.Limit) bool { return !v.OK || b.gained(l) > 0 }

// left says that so much is left, or more by what may have left on the real clock.
func (b *bench) left(v ratelimit.Verdict, l ratelimit.Limit, want int64) bool {
	return v.Remaining >= want && v.Remaining <= want+b.gained(l)
}

// holds insists on what is left, give or take what may have left on the real clock.
func (b *bench) holds(t *testing.T, k ratelimit.Key, l ratelimit.Limit, want int64) {
	t.Helper()
	if v := b.one(t, k, l, 0); !b.left(v, l, want) {
		t.Errorf("%+v: %d left, want %d", k, v.Remaining, want)
	}
}

// gained is how many units may have left on the real clock since the test began, which on a machine that is slow enough is
// some: what a bucket was refilled, and all of a window that has passed.
func (b *bench) gained(l ratelimit.Limit) int64 {
	if b.clocked() {
		return 0
	}
	passed := time.Since(b.began) + time.Microsecond // Stores count whole ones.
	switch {
	case l.Algorithm == ratelimit.TokenBucket:
		return refilled(l, passed) / million
	case passed >= l.Window:
		return l.N
	}
	return 0
}

// remaining looks at the key.
func (b *bench) remaining(t fatal, k ratelimit.Key, l ratelimit.Limit) int64 {
	t.Helper()
	return b.one(t, k, l, 0).Remaining
}
