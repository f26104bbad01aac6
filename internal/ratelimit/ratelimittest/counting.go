//nolint:thelper // These are tests: a failure is to point into them.
package ratelimittest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// testCounted spends a limit of each algorithm, and a limit of 1 and a cost of the whole limit beside it.
func testCounted(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("counted")
		b.spend(t, k, l, l.N)
		if v := b.one(t, k, l, 1); !b.refused(v, l) || !b.left(v, l, 0) || !v.OK && v.Receipt.ID != 0 {
			t.Errorf("over the limit: %+v", v)
		}
		one, k := limitOf(l.Algorithm, 1, time.Minute), newKey("one")
		b.spend(t, k, one, 1)
		if v := b.one(t, k, one, 1); !b.refused(v, one) {
			t.Errorf("second of 1: %+v", v)
		}
		k = newKey("whole")
		if v := b.one(t, k, l, l.N); !v.OK || !b.left(v, l, 0) {
			t.Errorf("cost of the whole limit: %+v", v)
		}
		if v := b.one(t, k, l, l.N); !b.refused(v, l) {
			t.Errorf("cost of the whole limit again: %+v", v)
		}
	})
}

// testAllOrNone spends a route's 3 under an organisation's 10: the refusals spend nothing of the organisation.
func testAllOrNone(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		org, route := newKey("org"), newKey("route")
		small := limitOf(l.Algorithm, 3, time.Minute)
		for i := range int64(5) {
			v := b.take(t, charge(org, l, 1), charge(route, small, 1))
			if b.gained(small) > 0 {
				return // Too slow a machine to say which calls fit.
			}
			if !v[0].OK || v[1].OK != (i < 3) {
				t.Fatalf("call %d: %+v", i, v)
			}
			if want := l.N - min(i+1, 3); !b.left(v[0], l, want) {
				t.Errorf("call %d: org has %d left, want %d", i, v[0].Remaining, want)
			}
			if recorded := v[0].Receipt.ID != 0; recorded != (i < 3) {
				t.Errorf("call %d: org's receipt %+v", i, v[0].Receipt)
			}
		}
	})
}

// testNoPartialCharge races calls over three budgets of which two are nearly spent.
func testNoPartialCharge(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		limits := []ratelimit.Limit{limitOf(l.Algorithm, 100, time.Hour), limitOf(l.Algorithm, 7, time.Hour), limitOf(l.Algorithm, 5, time.Hour)}
		ks := []ratelimit.Key{newKey("a"), newKey("b"), newKey("c")}
		charges := []ratelimit.Charge{charge(ks[0], limits[0], 1), charge(ks[1], limits[1], 1), charge(ks[2], limits[2], 2)}
		admitted := b.race(t, 8, 5, charges)
		if admitted < 2 || admitted > 2+b.gained(l) {
			t.Errorf("%d admitted, want 2", admitted)
		}
		for i, want := range []int64{98, 5, 1} {
			b.holds(t, ks[i], limits[i], want)
		}
	})
}

// testConcurrent has 2 000 calls at once share a limit of 100, over all the store's handles.
func testConcurrent(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		l = limitOf(l.Algorithm, 100, time.Hour)
		admitted := b.race(t, 500, 4, []ratelimit.Charge{charge(newKey("hot"), l, 1)})
		if admitted < 100 || admitted > 100+b.gained(l) {
			t.Errorf("%d admitted, want 100", admitted)
		}
	})
}

// race makes each of so many goroutines take the charges so often, and counts the calls that were admitted whole.
func (b *bench) race(t *testing.T, goroutines, calls int, charges []ratelimit.Charge) int64 {
	t.Helper()
	stores := append([]ratelimit.Store{b.Store}, b.Others...)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range calls {
				verdicts, err := stores[g%len(stores)].Take(context.Background(), charges)
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				if admittedAll(verdicts) {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return admitted.Load()
}

func admittedAll(verdicts []ratelimit.Verdict) bool {
	for _, v := range verdicts {
		if !v.OK {
			return false
		}
	}
	return true
}

// testOpposedOrders takes the same keys in opposed orders, many times at once.
func testOpposedOrders(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		l = limitOf(l.Algorithm, 1000, time.Hour)
		x, y := charge(newKey("x"), l, 1), charge(newKey("y"), l, 1)
		var wg sync.WaitGroup
		for _, charges := range [][]ratelimit.Charge{{x, y}, {y, x}} {
			wg.Go(func() { b.race(t, 4, 25, charges) })
		}
		wg.Wait()
		b.holds(t, x.Key, l, 800)
	})
}

func testLook(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("look")
		for range 3 {
			if v := b.one(t, k, l, 0); v != (ratelimit.Verdict{OK: true, Remaining: l.N}) {
				t.Fatalf("fresh key: %+v", v)
			}
		}
		b.spend(t, k, l, l.N)
		if v := b.one(t, k, l, 0); !v.OK || !b.left(v, l, 0) || v.Next == 0 || v.Receipt.ID != 0 {
			t.Errorf("spent key: %+v", v)
		}
	})
}

// testShadow spends a shadow, and then an enforced budget beside it.
func testShadow(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		small := limitOf(l.Algorithm, 2, time.Minute)
		shadow, enforced := charge(newKey("shadow"), small, 1), charge(newKey("enforced"), limitOf(l.Algorithm, 4, time.Minute), 1)
		shadow.Shadow = true
		for i := range int64(6) {
			v := b.take(t, shadow, enforced)
			if b.gained(small) > 0 {
				return // Too slow a machine to say which calls fit.
			}
			if v[0].OK != (i < 2) || v[1].OK != (i < 4) {
				t.Errorf("call %d: %+v", i, v)
			}
			if recorded := v[0].Receipt.ID != 0; recorded != (i < 2) {
				t.Errorf("call %d: shadow's receipt %+v", i, v[0].Receipt)
			}
			if want := max(0, 3-i); v[1].Remaining != want {
				t.Errorf("call %d: enforced has %d left, want %d", i, v[1].Remaining, want)
			}
		}
	})
}

func testReset(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		spent, other := newKey("reset"), newKey("reset")
		b.spend(t, spent, l, l.N)
		b.spend(t, other, l, 1)
		if err := b.Store.Reset(context.Background(), spent, newKey("never used")); err != nil {
			t.Fatalf("reset: %v", err)
		}
		b.spend(t, spent, l, l.N)
		b.holds(t, other, l, l.N-1)
	})
}

// testCancelled has a caller that is gone already: the store may answer or not, but not count in part.
func testCancelled(t *testing.T, b *bench) {
	l := limitOf(b.algorithms[0], 5, time.Hour)
	k, other := newKey("cancelled"), newKey("cancelled")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.Store.Take(ctx, []ratelimit.Charge{charge(k, l, 1), charge(other, l, 1)})
	left, otherLeft := b.remaining(t, k, l), b.remaining(t, other, l)
	if left != otherLeft || err == nil && left != 4 {
		t.Errorf("error %v, left %d and %d", err, left, otherLeft)
	}
}
