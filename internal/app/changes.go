package app

import (
	"context"
	"sync"
	"time"

	"example.com/gatehouse/internal/store"
)

// followChanges keeps what this process holds in memory in step with the database, for as long as work lasts. It returns
// once that is so for the first time: a server that did not know what is revoked must not say that it is ready.
func (s *server) followChanges(ctx, work context.Context) error {
	known := make(chan struct{})
	first := sync.OnceFunc(func() { close(known) })
	var interrupted time.Time // zero: it is not
	apply := func(ctx context.Context, changes []store.Change) error {
		if err := s.auth.Apply(ctx, changes); err != nil {
			return err
		}
		if err := s.applyToBudgets(ctx, changes); err != nil {
			return err
		}
		if !interrupted.IsZero() {
			s.log.WarnContext(work, "changes are heard of again", "lasted", time.Since(interrupted).Round(time.Millisecond).String())
		}
		interrupted = time.Time{}
		first()
		return nil
	}
	failed := func(err error) {
		if !interrupted.IsZero() {
			return
		}
		interrupted = time.Now()
		log := s.log
		if why := store.Refusal(err); why != "" {
			log = log.With("why", why, "fix", "mend "+s.directSetting()+", or the database")
		}
		log.WarnContext(work, "changes are not heard of until the database answers again; admin routes answer 503 meanwhile", "error", err)
	}
	s.following.Go(func() { s.store.Follow(work, apply, failed) })
	select {
	case <-known:
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // Compared by who told it to end.
	}
}

// applyToBudgets takes in what administrators change of budgets, on whichever process.
func (s *server) applyToBudgets(ctx context.Context, changes []store.Change) error {
	for _, c := range changes {
		switch c.Kind {
		case store.ChangedAnything:
			s.allowances.ForgetAll()
		case store.ChangedAllowances:
			s.allowances.Forget(store.ReadOverridden(c.Subject))
		case store.ChangedCounters:
			counter, err := store.ReadCounter(c.Subject)
			if err != nil {
				return err
			}
			if s.limiter.Budget(counter.Budget) == nil {
				continue // Of a process that is newer: nothing of it is counted here.
			}
			if err := s.limiter.ResetHere(ctx, counter.Budget, counter.Group, counter.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
