package store

import (
	"context"
	"errors"

	"example.com/gatehouse/internal/dbgen"
)

// Prune deletes a batch each of what nobody needs any more: old changes, revocations of what has expired, logout tokens that
// would be refused for their age, sign-ins and sessions that are over, what is kept of people who were removed a while ago,
// and what the audit is kept no longer for. Each is a statement of its own, so that one that fails holds up no other.
func (s *Store) Prune(ctx context.Context) error {
	prunings := []struct {
		doing string
		run   func(context.Context, *dbgen.Queries) error
	}{
		{"prune changes", func(ctx context.Context, q *dbgen.Queries) error { return q.PruneChanges(ctx, keepChanges) }},
		{"prune revocations", func(ctx context.Context, q *dbgen.Queries) error { return q.PruneRevocations(ctx) }},
		{"prune logout tokens", func(ctx context.Context, q *dbgen.Queries) error { return q.PruneLogoutTokens(ctx) }},
		{"prune sign-ins", func(ctx context.Context, q *dbgen.Queries) error { return q.PruneLogins(ctx) }},
		{"prune sessions", func(ctx context.Context, q *dbgen.Queries) error { return q.PruneSessions(ctx) }},
		{"prune forgotten people", func(ctx context.Context, q *dbgen.Queries) error {
			return q.PruneForgottenPeople(ctx, forgottenFor.Seconds())
		}},
		{"prune audit", s.pruneAudit},
	}
	var faults []error
	for _, p := range prunings {
		faults = append(faults, do(ctx, s, p.doing, p.run))
	}
	return errors.Join(faults...)
}

func (s *Store) pruneAudit(ctx context.Context, q *dbgen.Queries) error {
	if s.keepAudit == 0 {
		return nil
	}
	return q.PruneAudit(ctx, s.keepAudit)
}
