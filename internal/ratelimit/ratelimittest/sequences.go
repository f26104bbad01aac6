//nolint:thelper // These are tests: a failure is to point into them.
package ratelimittest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/ratelimit"
)

// testSequences makes random calls over several budgets: costs from 0 to one above the limit, shadows, changes of the
// limit, waits, units given back, resets. Every answer is held against the oracles.
func testSequences(t *testing.T, b *bench) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSequence(t, b)
		actions := map[string]func(*rapid.T){
			"take":         s.take,
			"take again":   s.take, // Twice, so that there are more calls than changes.
			"change limit": s.changeLimit,
			"reset":        s.reset,
			"give back":    s.giveBack,
		}
		if b.clocked() {
			actions["wait"] = s.wait
			actions["wait for next"] = s.waitForNext
			actions["wait for retry"] = s.waitForRetry
		}
		t.Repeat(actions)
	})
}

// A sequence is one run of random calls.
type sequence struct {
	*bench

	keys     []*sequenceKey
	receipts []sentReceipt
	now      time.Duration
	began    time.Time
}

type sequenceKey struct {
	key    ratelimit.Key
	limit  ratelimit.Limit
	oracle oracle
}

type sentReceipt struct {
	key     *sequenceKey
	receipt ratelimit.Receipt
	ticket  int64
}

func newSequence(t *rapid.T, b *bench) *sequence {
	s := &sequence{bench: b, began: time.Now()}
	for i := range rapid.IntRange(1, 3).Draw(t, "budgets") {
		k := &sequenceKey{key: newKey(fmt.Sprint("budget", i)), limit: s.drawLimit(t)}
		s.keys = append(s.keys, k)
		s.forget(k)
	}
	return s
}

func (s *sequence) drawLimit(t *rapid.T) ratelimit.Limit {
	l := ratelimit.Limit{
		Algorithm: rapid.SampledFrom(s.algorithms).Draw(t, "algorithm"),
		N:         rapid.Int64Range(0, 8).Draw(t, "limit"),
	}
	switch {
	case l.Algorithm == ratelimit.TokenBucket && s.clocked():
		l.Refill = rapid.SampledFrom([]int64{1, 3, 7, 1000}).Draw(t, "refill")
	case l.Algorithm == ratelimit.TokenBucket:
		l.Refill = 1
	case s.clocked():
		l.Window = rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 59_999 * time.Microsecond, time.Second, time.Minute}).Draw(t, "window")
	default:
		l.Window = time.Hour
	}
	return l
}

// forget gives the key a fresh oracle.
func (s *sequence) forget(k *sequenceKey) {
	k.oracle = newOracle(k.limit, s.early, s.BucketLate)
}

// early is how far the real clock may have run on while the oracle's stood, where it cannot be injected.
func (s *sequence) early() time.Duration {
	if s.clocked() {
		return 0
	}
	return time.Since(s.began) + time.Microsecond // Stores count whole ones.
}

func (s *sequence) take(t *rapid.T) {
	var charges []ratelimit.Charge
	for _, k := range s.keys {
		c := charge(k.key, k.limit, rapid.Int64Range(0, k.limit.N+1).Draw(t, "cost"))
		c.Shadow = rapid.IntRange(0, 4).Draw(t, "shadow") == 0
		charges = append(charges, c)
	}
	verdicts := s.bench.take(t, charges...)
	recorded := true
	var before []belief // Asked when the call is over, because it is then known how far the real clock has run.
	for i, v := range verdicts {
		recorded = recorded && (v.OK || charges[i].Shadow)
		before = append(before, s.keys[i].oracle.believe(s.now, s.keys[i].limit, charges[i].Cost))
	}
	for i, v := range verdicts {
		s.compare(t, s.keys[i], charges[i], before[i], v, recorded && v.OK && charges[i].Cost > 0)
	}
}

// compare holds one verdict against what was believed before the call, and what must be after it.
func (s *sequence) compare(t *rapid.T, k *sequenceKey, c ratelimit.Charge, before belief, v ratelimit.Verdict, recorded bool) {
	if v.OK && !before.mayFit || !v.OK && before.mustFit {
		t.Fatalf("at %v: %+v: got %+v, want %+v", s.now, c, v, before)
	}
	if recorded != (v.Receipt.Cost > 0) {
		t.Fatalf("at %v: %+v: recorded %v, receipt %+v", s.now, c, recorded, v.Receipt)
	}
	if recorded {
		ticket := k.oracle.record(s.now, k.limit, c.Cost)
		s.receipts = append(s.receipts, sentReceipt{k, v.Receipt, ticket})
	}
	after := k.oracle.believe(s.now, k.limit, 0)
	if v.Remaining < after.least || v.Remaining > after.most {
		t.Fatalf("at %v: %+v: remaining %d, want %d to %d", s.now, c, v.Remaining, after.least, after.most)
	}
	if after.exact {
		s.same(t, c, "next", v.Next, after.next)
		s.same(t, c, "retry", v.Retry, before.retry)
	}
}

// same holds times equal, or as near as the real clock has run on where it cannot be injected.
func (s *sequence) same(t *rapid.T, c ratelimit.Charge, what string, got, want time.Duration) {
	slack := s.early()
	if want <= 0 {
		slack = 0
	}
	if got < want-slack || got > want+slack {
		t.Fatalf("at %v: %+v: %s %v, want %v", s.now, c, what, got, want)
	}
}

func (s *sequence) changeLimit(t *rapid.T) {
	k := rapid.SampledFrom(s.keys).Draw(t, "key")
	k.limit.N = rapid.Int64Range(0, 8).Draw(t, "limit")
}

func (s *sequence) reset(t *rapid.T) {
	k := rapid.SampledFrom(s.keys).Draw(t, "key")
	if err := s.Store.Reset(context.Background(), k.key); err != nil {
		t.Fatalf("reset: %v", err)
	}
	s.forget(k)
	s.receipts = slices.DeleteFunc(s.receipts, func(r sentReceipt) bool { return r.key == k })
}

// giveBack sends a receipt once, as the limiter does.
func (s *sequence) giveBack(t *rapid.T) {
	if !s.returns() || len(s.receipts) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.receipts)-1).Draw(t, "receipt")
	r := s.receipts[i]
	s.receipts = slices.Delete(s.receipts, i, i+1)
	units := rapid.Int64Range(1, r.receipt.Cost).Draw(t, "units")
	given := s.bench.giveBack(t, r.key.key, r.key.limit, r.receipt, units)
	least, most := r.key.oracle.giveBack(s.now, r.key.limit, r.ticket, units, given)
	if given < least || given > most {
		t.Fatalf("at %v: gave back %d of %+v for %+v, want %d to %d", s.now, given, r.receipt, r.key.limit, least, most)
	}
}

func (s *sequence) advance(d time.Duration) {
	s.now += d
	s.bench.advance(d)
}

func (s *sequence) wait(t *rapid.T) {
	span := max(s.keys[0].limit.Span(), time.Millisecond)
	s.advance(rapid.SampledFrom([]time.Duration{
		time.Microsecond, time.Millisecond, span / 60, span / 3, span - time.Microsecond, span, 2 * span,
	}).Draw(t, "wait").Truncate(time.Microsecond))
}

// waitForNext holds that Remaining grows at Next and not a moment before.
func (s *sequence) waitForNext(t *rapid.T) {
	k := rapid.SampledFrom(s.keys).Draw(t, "key")
	v := s.one(t, k.key, k.limit, 0)
	if v.Next == 0 {
		return
	}
	s.advance(v.Next - time.Microsecond)
	if before := s.remaining(t, k.key, k.limit); before != v.Remaining {
		t.Fatalf("%+v: remaining grew from %d to %d before %v", k.limit, v.Remaining, before, v.Next)
	}
	s.advance(time.Microsecond)
	if after := s.remaining(t, k.key, k.limit); after <= v.Remaining {
		t.Fatalf("%+v: remaining was %d and is %d after %v", k.limit, v.Remaining, after, v.Next)
	}
}

// waitForRetry holds that a refused charge fits at Retry and not a moment before. It charges a shadow beside an
// enforced charge that never fits, so that nothing is recorded.
func (s *sequence) waitForRetry(t *rapid.T) {
	k := rapid.SampledFrom(s.keys).Draw(t, "key")
	cost := rapid.Int64Range(1, max(1, k.limit.N)).Draw(t, "cost")
	never := charge(newKey("never"), k.limit, k.limit.N+1)
	try := func() ratelimit.Verdict { return s.bench.take(t, charge(k.key, k.limit, cost), never)[0] }
	v := try()
	if v.OK || v.Retry == ratelimit.Never {
		return
	}
	s.advance(v.Retry - time.Microsecond)
	if before := try(); before.OK {
		t.Fatalf("%+v: cost %d fits before %v", k.limit, cost, v.Retry)
	}
	s.advance(time.Microsecond)
	if after := try(); !after.OK {
		t.Fatalf("%+v: cost %d does not fit after %v: %+v", k.limit, cost, v.Retry, after)
	}
}

// testSteps steps the clock about at random. Every answer has the right form, and however the clock was set, a key is
// whole again a span after the first call that saw it.
func testSteps(t *testing.T, b *bench) {
	if !b.clocked() {
		return
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newSequence(t, b)
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			s.bench.take(t, s.anyCharges(t)...)
			s.advance(rapid.SampledFrom([]time.Duration{
				0, time.Second, time.Minute, time.Hour, -time.Second, -time.Minute, -time.Hour,
			}).Draw(t, "step"))
		}
		for _, k := range s.keys {
			s.one(t, k.key, k.limit, 0)
			s.advance(k.limit.Span() + b.BucketLate)
			if got := s.remaining(t, k.key, k.limit); got != k.limit.N {
				t.Fatalf("%+v: %d left a span later", k.limit, got)
			}
		}
	})
}

func (s *sequence) anyCharges(t *rapid.T) (charges []ratelimit.Charge) {
	for _, k := range s.keys {
		charges = append(charges, charge(k.key, k.limit, rapid.Int64Range(0, k.limit.N+1).Draw(t, "cost")))
	}
	return charges
}
