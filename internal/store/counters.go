package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/gatehouse/internal/dbgen"
)

// CounterKind is how a counter counts; the values are those of the database's functions.
type CounterKind int32

// The kinds of counters.
const (
	SlidingWindow CounterKind = 1
	FixedWindow   CounterKind = 2
)

// A Charge asks for Cost units of one counter, of which Span admits Limit. No two of one call have the same Key.
type Charge struct {
	Key         []byte // At least 8 bytes, all of them random or hashed: the first 8 choose the lock.
	Kind        CounterKind
	Limit, Cost int64 // Cost 0 only looks; above Limit it never fits.
	Span        time.Duration
	// Shadow charges are judged but never keep the others from being recorded.
	Shadow bool
}

// A ChargeVerdict is what the database says of one charge.
type ChargeVerdict struct {
	Fits bool
	// Broken says that the stored value is no counter of this kind; nothing else is set then.
	Broken bool
	// Remaining is what is left after the call.
	Remaining int64
	// Next is the time until Remaining grows, Retry the time until a charge that does not fit would; 0 for none.
	Next, Retry time.Duration
	// Receipt names what was recorded, for GiveBackCharges; 0 if nothing was.
	Receipt int64
}

// A ChargeReturn asks to give back Units of what the receipt names.
type ChargeReturn struct {
	Key     []byte
	Kind    CounterKind
	Span    time.Duration
	Receipt int64
	Units   int64
}

// A CounterClock says when it is for counters; nil is the database's own clock. Only tests have another.
type CounterClock func() time.Time

func (c CounterClock) micros() *int64 {
	if c == nil {
		return nil
	}
	at := c().UnixMicro()
	return &at
}

// TakeCharges decides all charges in one statement: either every one that is not a shadow fits and all that fit are
// recorded, or none is. ErrUnavailable: a counter was locked by others for nearly as long as ctx allows, or the
// database does not answer; the charges may then have been recorded.
func (s *Store) TakeCharges(ctx context.Context, clock CounterClock, charges []Charge) ([]ChargeVerdict, error) {
	p := dbgen.TakeChargesParams{Clock: clock.micros()}
	for _, c := range charges {
		p.Keys = append(p.Keys, c.Key)
		p.Kinds = append(p.Kinds, int32(c.Kind))
		p.Limits = append(p.Limits, c.Limit)
		p.Spans = append(p.Spans, c.Span.Microseconds())
		p.Costs = append(p.Costs, c.Cost)
		p.Shadows = append(p.Shadows, c.Shadow)
	}
	answer, err := one(ctx, s, "take charges", func(ctx context.Context, q *dbgen.Queries) ([]int64, error) {
		p.WaitMs = lockWait(ctx)
		return q.TakeCharges(ctx, p)
	})
	if err != nil {
		return nil, err
	}
	return verdicts(answer, len(charges))
}

// answerSize is how many numbers the database answers to a charge.
const answerSize = 5

// The statuses of a charge.
const (
	chargeFits   = 1
	chargeBroken = 2
)

func verdicts(answer []int64, charges int) ([]ChargeVerdict, error) {
	if len(answer) != answerSize*charges {
		return nil, fmt.Errorf("take charges: the database answered %d numbers to %d charges", len(answer), charges)
	}
	all := make([]ChargeVerdict, charges)
	for i := range all {
		a := answer[answerSize*i : answerSize*(i+1)]
		if a[0] == chargeBroken {
			all[i].Broken = true
			continue
		}
		all[i] = ChargeVerdict{Fits: a[0] == chargeFits, Remaining: a[1], Next: micros(a[2]), Retry: micros(a[3]), Receipt: a[4]}
	}
	return all, nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// GiveBackCharges takes back what receipts name and answers the units given back, one a return: 0 where nothing of a
// receipt is left to give, or its counter is broken. The errors are those of TakeCharges.
func (s *Store) GiveBackCharges(ctx context.Context, clock CounterClock, returns []ChargeReturn) ([]int64, error) {
	p := dbgen.GiveBackChargesParams{Clock: clock.micros()}
	for _, r := range returns {
		p.Keys = append(p.Keys, r.Key)
		p.Kinds = append(p.Kinds, int32(r.Kind))
		p.Spans = append(p.Spans, r.Span.Microseconds())
		p.Receipts = append(p.Receipts, r.Receipt)
		p.Units = append(p.Units, r.Units)
	}
	given, err := one(ctx, s, "give back charges", func(ctx context.Context, q *dbgen.Queries) ([]int64, error) {
		p.WaitMs = lockWait(ctx)
		return q.GiveBackCharges(ctx, p)
	})
	if err == nil && len(given) != len(returns) {
		err = fmt.Errorf("give back charges: the database answered %d numbers to %d returns", len(given), len(returns))
	}
	return given, err
}

// ResetCounters makes the counters as if never used, also broken ones.
func (s *Store) ResetCounters(ctx context.Context, keys [][]byte) error {
	return do(ctx, s, "reset counters", func(ctx context.Context, q *dbgen.Queries) error {
		return q.ResetCounters(ctx, dbgen.ResetCountersParams{Keys: keys, WaitMs: lockWait(ctx)})
	})
}

// PruneCounters walks a batch of counters, from the one after the given key on, and deletes those that have expired.
// It returns the key to go on from; nil when there are no more.
func (s *Store) PruneCounters(ctx context.Context, clock CounterClock, after []byte, batch int32) ([]byte, error) {
	if after == nil {
		after = []byte{} // Before every key; NULL is before none.
	}
	last, err := one(ctx, s, "prune counters", func(ctx context.Context, q *dbgen.Queries) ([]byte, error) {
		return q.PruneCounters(ctx, dbgen.PruneCountersParams{After: after, Size: batch, Clock: clock.micros()})
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return last, err
}

// CountersReady is false while the database lacks the migration that counters need.
func (s *Store) CountersReady(ctx context.Context) (bool, error) {
	return one(ctx, s, "look for counters", func(ctx context.Context, q *dbgen.Queries) (bool, error) {
		return q.CountersReady(ctx)
	})
}

// lockWait is how long a statement may wait for locks, in milliseconds: so much less than the caller waits that the
// database's refusal arrives in time, and the connection stays good.
func lockWait(ctx context.Context) int32 {
	wait := callTimeout
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline))
	}
	return int32(max(1, (wait * 4 / 5).Milliseconds())) //nolint:gosec // At most callTimeout.
}
