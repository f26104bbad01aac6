package app

import (
	"context"
	"fmt"

	"example.com/gatehouse/internal/ratelimit/postgres"
)

// openCounters makes the store of budgets that are counted in the database, and makes sure that it can count there.
func (s *server) openCounters(ctx context.Context, secret []byte) error {
	var err error
	if s.postgres, err = postgres.New(s.store, postgres.Config{Secret: secret, PruneFailed: s.pruneFailed}); err != nil {
		return fmt.Errorf("make the store of counters in the database: %w", err)
	}
	return s.postgres.Check(ctx)
}

// pruneFailed logs that expired counters stay in the database for longer; what counts is not affected.
func (s *server) pruneFailed(err error) {
	s.log.Warn("expired counters were not deleted; trying again later", "error", err)
}
