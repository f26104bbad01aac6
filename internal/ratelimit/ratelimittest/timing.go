//nolint:thelper // These are tests: a failure is to point into them.
package ratelimittest

import (
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// testDeniedChangesNothing sends 150 calls a minute, evenly, at a limit of 100 for three minutes.
func testDeniedChangesNothing(t *testing.T, b *bench) {
	if !b.clocked() {
		return
	}
	l, k := limitOf(ratelimit.SlidingLog, 100, time.Minute), newKey("denied")
	for minute := range 3 {
		admitted := 0
		for range 150 {
			if b.one(t, k, l, 1).OK {
				admitted++
			}
			b.advance(400 * time.Millisecond)
		}
		if admitted != 100 {
			t.Errorf("minute %d: %d admitted, want 100", minute, admitted)
		}
	}
}

// testBoundary spends the limit in the last instant of a minute and again in the first of the next.
func testBoundary(t *testing.T, b *bench) {
	if !b.clocked() {
		return
	}
	for _, a := range b.algorithms {
		if a != ratelimit.SlidingLog && a != ratelimit.Segments {
			continue
		}
		l, k := limitOf(a, 100, time.Minute), newKey("boundary")
		b.advance(time.Minute - b.now%time.Minute - time.Microsecond)
		b.spend(t, k, l, 100)
		b.advance(time.Microsecond)
		if v := b.one(t, k, l, 1); v.OK || v.Remaining != 0 {
			t.Errorf("%v: first instant of the next minute: %+v", a, v)
		}
	}
}

// testRelease holds that units leave at W and not a moment before, in segments less than W/60 later, and that Retry and
// Next say when.
func testRelease(t *testing.T, b *bench) {
	if !b.clocked() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		if l.Algorithm == ratelimit.TokenBucket {
			l = ratelimit.Limit{Algorithm: l.Algorithm, N: 10, Refill: 10}
		}
		k := newKey("release")
		b.spend(t, k, l, l.N)
		v := b.one(t, k, l, l.N)
		if v.OK || v.Retry < exactRetry(l) || v.Retry > l.Span() {
			t.Fatalf("spent: %+v", v)
		}
		b.advance(v.Retry - time.Millisecond)
		late := b.one(t, k, l, l.N)
		if late.OK || late.Retry != time.Millisecond {
			t.Errorf("1 ms before the release: %+v", late)
		}
		b.advance(time.Millisecond)
		if v := b.one(t, k, l, l.N); !v.OK || v.Remaining != 0 {
			t.Errorf("at the release: %+v", v)
		}
		b.advance(l.Span())
		if v := b.one(t, k, l, 1); !v.OK || v.Remaining != l.N-1 {
			t.Errorf("a window later: %+v", v)
		}
	})
}

// exactRetry is how long a cost of the whole limit must wait after the whole limit was spent.
func exactRetry(l ratelimit.Limit) time.Duration {
	if l.Algorithm == ratelimit.TokenBucket {
		return l.Span()
	}
	return l.Window
}

// testReleaseInEarnest waits as long as the store says, on the real clock; stores with an injected one have testRelease.
func testReleaseInEarnest(t *testing.T, b *bench) {
	if b.clocked() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		l, k := limitOf(l.Algorithm, 3, 300*time.Millisecond), newKey("earnest")
		began := time.Now()
		b.one(t, k, l, l.N)
		v := b.one(t, k, l, l.N)
		if passed := time.Since(began); v.OK && passed < exactRetry(l) {
			t.Fatalf("over the limit after %v: %+v", passed, v)
		}
		time.Sleep(v.Retry) // The wait that the store promises to be enough.
		if v := b.one(t, k, l, l.N); !v.OK {
			t.Errorf("after the promised wait: %+v", v)
		}
		if took := time.Since(began); took < exactRetry(l)-b.BucketLate-time.Millisecond {
			t.Errorf("released %v after the first hit already", took)
		}
	})
}

// testClockBack sets the clock back an hour with the limit spent: it is admitted again at most a window after the first
// call that sees the step.
func testClockBack(t *testing.T, b *bench) {
	if !b.clocked() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("back")
		b.advance(2 * time.Hour)
		b.spend(t, k, l, l.N)
		b.advance(-time.Hour)
		b.one(t, k, l, 1)
		b.advance(l.Span())
		if v := b.one(t, k, l, 1); !v.OK {
			t.Errorf("a window after the step: %+v", v)
		}
	})
}

// testClockAhead lets the clock jump an hour ahead and back: at most one window is forgiven, nothing freezes.
func testClockAhead(t *testing.T, b *bench) {
	if !b.clocked() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("ahead")
		b.spend(t, k, l, l.N)
		b.advance(time.Hour)
		ahead := b.admitAll(t, k, l)
		b.advance(-time.Hour)
		back := b.admitAll(t, k, l)
		if ahead+back > l.N {
			t.Errorf("%d admitted ahead and %d back, want no more than %d", ahead, back, l.N)
		}
		b.advance(l.Span())
		if v := b.one(t, k, l, 1); !v.OK {
			t.Errorf("a window after the return: %+v", v)
		}
	})
}

// admitAll takes units until one is refused.
func (b *bench) admitAll(t *testing.T, k ratelimit.Key, l ratelimit.Limit) (units int64) {
	t.Helper()
	for units < 3*l.N && b.one(t, k, l, 1).OK {
		units++
	}
	return units
}
