//nolint:thelper // These are tests: a failure is to point into them.
package ratelimittest

import (
	"context"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// giveBack is the units given back.
func (b *bench) giveBack(t fatal, k ratelimit.Key, l ratelimit.Limit, r ratelimit.Receipt, units int64) int64 {
	t.Helper()
	store, ok := b.Store.(ratelimit.Returner)
	if !ok {
		t.Fatalf("the store cannot give back")
	}
	given, err := store.GiveBack(context.Background(), []ratelimit.Return{{Key: k, Limit: l, Receipt: r, Units: units}})
	if err != nil || len(given) != 1 {
		t.Fatalf("give back %d: %v, %v", units, given, err)
	}
	return given[0]
}

func (b *bench) returns() bool {
	_, ok := b.Store.(ratelimit.Returner)
	return ok
}

func testGiveBack(t *testing.T, b *bench) {
	if !b.returns() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("give back")
		l = limitOf(l.Algorithm, 10, time.Hour)
		b.spend(t, k, l, l.N-3)
		receipt := b.one(t, k, l, 3).Receipt
		if denied := b.one(t, k, l, 1); denied.OK {
			if b.refused(denied, l) {
				return // Too slow a machine to see a refusal.
			}
			t.Errorf("over the limit: %+v", denied)
		} else if got := b.giveBack(t, k, l, denied.Receipt, 1); got != 0 {
			t.Errorf("gave back %d of a denied call", got)
		}
		if got := b.giveBack(t, newKey("another"), l, receipt, 3); got != 0 {
			t.Errorf("gave back %d to a fresh key", got)
		}
		// More than was charged; of a bucket, some may have been refilled meanwhile, and a begun unit is not whole.
		if got := b.giveBack(t, k, l, receipt, 100); got > 3 || got < 3-b.begun(l) {
			t.Errorf("gave back %d of 3", got)
		}
		if l.Algorithm == ratelimit.TokenBucket {
			return
		}
		b.twice(t, k, l, receipt)
		if got := b.remaining(t, k, l); got != 3 {
			t.Errorf("%d left, want 3", got)
		}
		b.spendRest(t, k, l, 3)
	})
}

// begun is gained with the unit that a bucket has begun to gain.
func (b *bench) begun(l ratelimit.Limit) int64 {
	if b.clocked() || l.Algorithm != ratelimit.TokenBucket {
		return 0
	}
	return b.gained(l) + 1
}

// twice gives a receipt of a log back a second time.
func (b *bench) twice(t *testing.T, k ratelimit.Key, l ratelimit.Limit, r ratelimit.Receipt) {
	t.Helper()
	if l.Algorithm != ratelimit.SlidingLog {
		return // A counter cannot tell: the limiter sends each receipt once.
	}
	if got := b.giveBack(t, k, l, r, 3); got != 0 {
		t.Errorf("gave back %d a second time", got)
	}
}

func (b *bench) spendRest(t *testing.T, k ratelimit.Key, l ratelimit.Limit, rest int64) {
	t.Helper()
	if v := b.one(t, k, l, rest); !v.OK {
		t.Errorf("the rest of %d was refused: %+v", rest, v)
	}
	if v := b.one(t, k, l, 1); v.OK {
		t.Errorf("more than the rest was admitted: %+v", v)
	}
}

// testGiveBackLate gives back what has left already, with newer units in its place.
func testGiveBackLate(t *testing.T, b *bench) {
	if !b.returns() || !b.clocked() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("late")
		receipt := b.one(t, k, l, 5).Receipt
		b.advance(2 * l.Span())
		newer := b.one(t, k, l, 5).Receipt
		if got := b.giveBack(t, k, l, receipt, 5); got != 0 {
			t.Errorf("gave back %d after the window", got)
		}
		if got := b.remaining(t, k, l); got != 5 {
			t.Errorf("%d left, want 5", got)
		}
		if got := b.giveBack(t, k, l, newer, 5); got != 5 {
			t.Errorf("gave back %d of the newer 5", got)
		}
		if got := b.remaining(t, k, l); got != l.N {
			t.Errorf("%d left, want all %d", got, l.N)
		}
	})
}

// testSettle gives part of a charge back: the rest stays, and a log gives none of it a second time.
func testSettle(t *testing.T, b *bench) {
	if !b.returns() {
		return
	}
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("settle")
		l = limitOf(l.Algorithm, 1000, 24*time.Hour)
		receipt := b.one(t, k, l, 900).Receipt
		given := b.giveBack(t, k, l, receipt, 650)
		if given > 650 || given < 650-max(0, b.begun(l)-250) { // The 250 that are kept are refilled first.
			t.Errorf("gave back %d of 650", given)
		}
		b.holds(t, k, l, 750)
		if l.Algorithm == ratelimit.SlidingLog && b.giveBack(t, k, l, receipt, 100) != 0 {
			t.Error("settled twice")
		}
	})
}
