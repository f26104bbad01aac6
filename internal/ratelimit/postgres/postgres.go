// Package postgres counts budgets in the database, so that all processes that share it count together: for budgets that
// guard what needs the database anyway, and are rare enough for a statement each.
//
// One decision is one statement, however many budgets it charges, and either all charges of it are recorded or none is.
// A refused call writes nothing. Time is the database's own, so the clocks of processes do not matter; a step of its
// clock is guarded against. It has the exact sliding log and the fixed window.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// defaultTimeout bounds one call. A healthy one takes a few milliseconds, one that has to connect first some tens, on a
// busy machine hundreds. What it guards goes on to wait for the same database, so to give up much sooner would only
// refuse what could be served.
const defaultTimeout = time.Second

// minSecret is the least length of a secret in bytes.
const minSecret = 16

// A Config says how keys are hidden, and what is reported.
type Config struct {
	// Secret keys the hash that stands for ids in the database. All processes that are to count together need the same,
	// of at least 16 bytes; with another secret they begin with empty counters.
	Secret []byte
	// Timeout bounds a call whose context has no deadline, waiting for a connection and for locks included; a second if 0.
	Timeout time.Duration
	// PruneFailed is told of each failure to delete expired counters. They are then deleted later; counting goes on. It
	// may be nil.
	PruneFailed func(error)
}

// A Store counts in one database. It is safe for concurrent use.
type Store struct {
	db      *store.Store
	keys    keyring
	timeout time.Duration
	pruner  pruner
	// clock is what the database takes for the time: nil, but in tests, means its own.
	clock store.CounterClock
}

var (
	_ ratelimit.Store     = (*Store)(nil)
	_ ratelimit.Returner  = (*Store)(nil)
	_ ratelimit.Selective = (*Store)(nil)
)

// New makes the store. It asks the database nothing: one that is down fails calls, not the start. Close it before db.
func New(db *store.Store, config Config) (*Store, error) {
	if len(config.Secret) < minSecret {
		return nil, fmt.Errorf("the secret has %d bytes: use at least %d", len(config.Secret), minSecret)
	}
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	s := &Store{db: db, keys: keyring{slices.Clone(config.Secret)}, timeout: config.Timeout}
	s.pruner.init(s.prune, config.PruneFailed)
	return s, nil
}

// Timeout is what bounds each call.
func (s *Store) Timeout() time.Duration { return s.timeout }

// Check says whether the database has what the store needs; without it every call would fail.
func (s *Store) Check(ctx context.Context) error {
	ready, err := s.db.CountersReady(ctx)
	if err != nil {
		return fmt.Errorf("check the limiter's table: %w", err)
	}
	if !ready {
		return errors.New("the database lacks the limiter's table or functions: run the subcommand migrate")
	}
	return nil
}

// Supports implements ratelimit.Selective.
func (s *Store) Supports(a ratelimit.Algorithm) bool { return kindOf(a) != 0 }

// kindOf is how the database calls the algorithm; 0 for those that it does not have.
func kindOf(a ratelimit.Algorithm) store.CounterKind {
	switch a {
	case ratelimit.SlidingLog:
		return store.SlidingWindow
	case ratelimit.FixedWindow:
		return store.FixedWindow
	default:
		return 0
	}
}

// Take implements ratelimit.Store.
func (s *Store) Take(ctx context.Context, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	if err := check(charges); err != nil {
		return nil, err
	}
	if len(charges) == 0 {
		return nil, nil
	}
	asked := make([]store.Charge, len(charges))
	for i := range charges {
		asked[i] = s.charge(&charges[i])
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	answers, err := s.db.TakeCharges(ctx, s.clock, asked)
	if err != nil {
		return nil, err
	}
	s.pruner.noticeAll(charges)
	verdicts := make([]ratelimit.Verdict, len(charges))
	for i := range charges {
		verdicts[i] = verdictOf(&charges[i], &answers[i])
		if verdicts[i].Err != nil {
			verdicts[i].Err = fmt.Errorf(`\x%x: %w`, asked[i].Key, verdicts[i].Err)
		}
	}
	return verdicts, nil
}

// check faults what the database could only misunderstand.
func check(charges []ratelimit.Charge) error {
	if err := ratelimit.CheckCharges(charges); err != nil {
		return err
	}
	for i := range charges {
		if a := charges[i].Limit.Algorithm; kindOf(a) == 0 {
			return fmt.Errorf("%w: budget %q: PostgreSQL does not count %v: use another store", ratelimit.ErrCharge, charges[i].Key.Budget, a)
		}
	}
	return nil
}

func (s *Store) charge(c *ratelimit.Charge) store.Charge {
	return store.Charge{
		Key: s.keys.key(&c.Key, c.Limit.Algorithm), Kind: kindOf(c.Limit.Algorithm), Limit: c.Limit.N, Span: c.Limit.Window,
		// A cost above the limit never fits, however far above.
		Cost:   min(c.Cost, c.Limit.N+1),
		Shadow: c.Shadow,
	}
}

// errValue is the fault of a verdict.
var errValue = errors.New("the stored value is not a counter of this kind: reset the key")

func verdictOf(c *ratelimit.Charge, a *store.ChargeVerdict) ratelimit.Verdict {
	if a.Broken {
		return ratelimit.Verdict{Err: errValue}
	}
	v := ratelimit.Verdict{OK: a.Fits, Remaining: a.Remaining, Next: a.Next, Retry: a.Retry}
	if !v.OK && c.Cost > c.Limit.N {
		v.Retry = ratelimit.Never
	}
	if a.Receipt > 0 {
		v.Receipt = ratelimit.Receipt{ID: uint64(a.Receipt), Cost: c.Cost}
	}
	return v
}

// GiveBack implements ratelimit.Returner.
func (s *Store) GiveBack(ctx context.Context, returns []ratelimit.Return) ([]int64, error) {
	if len(returns) == 0 {
		return nil, nil
	}
	asked := make([]store.ChargeReturn, len(returns))
	for i := range returns {
		asked[i] = s.giveBack(&returns[i])
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.db.GiveBackCharges(ctx, s.clock, asked)
}

// giveBack asks for nothing where the receipt can be none of this store's.
func (s *Store) giveBack(r *ratelimit.Return) store.ChargeReturn {
	asked := store.ChargeReturn{
		Key: s.keys.key(&r.Key, r.Limit.Algorithm), Kind: kindOf(r.Limit.Algorithm), Span: r.Limit.Window,
		Units: max(0, min(r.Units, r.Receipt.Cost)),
	}
	if r.Receipt.ID <= math.MaxInt64 {
		asked.Receipt = int64(r.Receipt.ID)
	}
	return asked
}

// Reset implements ratelimit.Store: the keys' counters are as if never used, also those that hold what no counter is.
func (s *Store) Reset(ctx context.Context, keys ...ratelimit.Key) error {
	var all [][]byte
	for _, key := range keys {
		for _, a := range []ratelimit.Algorithm{ratelimit.SlidingLog, ratelimit.FixedWindow} {
			all = append(all, s.keys.key(&key, a))
		}
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return s.db.ResetCounters(ctx, all)
}

// Close ends the deleting of expired counters and waits for it. Counting goes on to work until the database is closed.
func (s *Store) Close() { s.pruner.close() }

// bounded gives a deadline to a context that has none.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.timeout)
}
