package app

import (
	"context"
	"time"
)

// pruneEvery is how often a process deletes what nobody needs any more.
const pruneEvery = time.Minute

// keepPruned deletes from the database what nobody needs any more, at once and then again and again until ctx ends. It is
// apart from all that requests wait for: a failure is said once, until it works again, and costs room alone.
func (s *server) keepPruned(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	failing := false
	for {
		err := s.store.Prune(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.WarnContext(ctx, "what has expired was not deleted from the database; trying again later", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
