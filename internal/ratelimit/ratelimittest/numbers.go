//nolint:thelper // These are tests: a failure is to point into them.
package ratelimittest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

func testNeverFits(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("never")
		for _, cost := range []int64{l.N + 1, 1 << 34, 1 << 53, 1 << 62, math.MaxInt64} {
			if v := b.one(t, k, l, cost); v.OK || v.Retry != ratelimit.Never || v.Remaining != l.N || v.Next != 0 {
				t.Errorf("cost %d: %+v", cost, v)
			}
		}
		b.spend(t, k, l, l.N)
		if v := b.one(t, k, l, math.MaxInt64); v.OK || v.Retry != ratelimit.Never || !b.left(v, l, 0) || v.Next == 0 {
			t.Errorf("the largest cost on a spent key: %+v", v)
		}
	})
}

// testFaultyCharges holds that a faulty charge is the caller's error, and that the sound one beside it is not counted.
func testFaultyCharges(t *testing.T, b *bench) {
	sound := charge(newKey("sound"), limitOf(b.algorithms[0], 5, time.Minute), 1)
	window := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 5, Window: time.Minute}
	faulty := map[string]func(*ratelimit.Charge){
		"a negative cost":   func(c *ratelimit.Charge) { c.Cost = -5 },
		"the least cost":    func(c *ratelimit.Charge) { c.Cost = math.MinInt64 },
		"a negative limit":  func(c *ratelimit.Charge) { c.Limit.N = -1 },
		"no window":         func(c *ratelimit.Charge) { c.Limit = window; c.Limit.Window = 0 },
		"a negative window": func(c *ratelimit.Charge) { c.Limit = window; c.Limit.Window = -time.Minute },
		"an endless window": func(c *ratelimit.Charge) { c.Limit = window; c.Limit.Window = math.MaxInt64 },
		"a log too long":    func(c *ratelimit.Charge) { c.Limit = window; c.Limit.N = ratelimit.MaxLog + 1 },
		"the largest limit": func(c *ratelimit.Charge) { c.Limit.N = math.MaxInt64 },
		"no algorithm":      func(c *ratelimit.Charge) { c.Limit.Algorithm = 0 },
		"a bucket with a leak": func(c *ratelimit.Charge) {
			c.Limit = ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 1, Refill: -1}
		},
		"the same key": func(c *ratelimit.Charge) { c.Key = sound.Key },
	}
	for name, spoil := range faulty {
		t.Run(name, func(t *testing.T) {
			bad := charge(newKey("bad"), sound.Limit, 1)
			spoil(&bad)
			if _, err := b.Store.Take(context.Background(), []ratelimit.Charge{sound, bad}); !errors.Is(err, ratelimit.ErrCharge) {
				t.Errorf("got error %v, want one that is ErrCharge", err)
			}
			if got := b.remaining(t, sound.Key, sound.Limit); got != 5 {
				t.Errorf("the sound charge was counted: %d left", got)
			}
		})
	}
}

func testLimitZero(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k, spent := newKey("zero"), newKey("zero")
		b.spend(t, spent, l, 3)
		l.N = 0
		for _, k := range []ratelimit.Key{k, spent} {
			if v := b.one(t, k, l, 1); v.OK || v.Remaining != 0 || v.Next != 0 || v.Retry != ratelimit.Never {
				t.Errorf("cost 1: %+v", v)
			}
			if v := b.one(t, k, l, 0); !v.OK || v.Remaining != 0 || v.Next != 0 {
				t.Errorf("look: %+v", v)
			}
		}
	})
}

// testLimitChange lowers 100 to 50 with 60 used, and raises it to 200.
func testLimitChange(t *testing.T, b *bench) {
	b.eachAlgorithm(t, func(t *testing.T, l ratelimit.Limit) {
		k := newKey("change")
		l = limitOf(l.Algorithm, 100, time.Hour)
		if v := b.one(t, k, l, 60); !v.OK || v.Remaining != 40 {
			t.Fatalf("60 of 100: %+v", v)
		}
		l.N = 50
		switch v := b.one(t, k, l, 1); {
		case v.OK && b.gained(l) > 0:
			return // Too slow a machine to see a refusal.
		case v.OK || !b.left(v, l, 0) || v.Retry < v.Next:
			t.Errorf("lowered to 50: %+v", v)
		}
		l.N = 200
		b.holds(t, k, l, 140)
		if v := b.one(t, k, l, 140); !v.OK || !b.left(v, l, 0) {
			t.Errorf("the rest of 200: %+v", v)
		}
	})
}
