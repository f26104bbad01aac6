package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

const (
	// pruneBatch is how many counters one statement walks: few enough to take milliseconds.
	pruneBatch = 500
	// leastPause is between two walks however short the windows are, and before a failed one is tried again: a walk reads
	// the whole table.
	leastPause = time.Minute
)

// A pruner runs run in the background, at most once per longest window that was seen: until then most counters could
// not have expired. It has no timer: the calls of the store set it off, so an unused store does nothing.
type pruner struct {
	run    func(context.Context) error
	failed func(error) // May be nil.
	now    func() time.Time
	ctx    context.Context //nolint:containedctx // It ends with close, not with a call.
	cancel context.CancelFunc

	mu      sync.Mutex
	longest time.Duration
	last    time.Time // When the last run began, or the pruner was made.
	broken  bool      // The last run failed.
	running bool
	closed  bool
	done    sync.WaitGroup
}

func (p *pruner) init(run func(context.Context) error, failed func(error)) {
	p.run, p.failed, p.now = run, failed, time.Now
	p.last = p.now()
	p.ctx, p.cancel = context.WithCancel(context.Background())
}

// noticeAll learns the windows of the charges, and sets a run off if one is due.
func (p *pruner) noticeAll(charges []ratelimit.Charge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range charges {
		p.longest = max(p.longest, charges[i].Limit.Window)
	}
	if p.running || p.closed || p.now().Sub(p.last) < p.pause() {
		return
	}
	p.running, p.last = true, p.now()
	p.done.Go(p.prune)
}

func (p *pruner) pause() time.Duration {
	if p.broken {
		return leastPause
	}
	return max(p.longest, leastPause)
}

func (p *pruner) prune() {
	err := p.run(p.ctx)
	p.mu.Lock()
	p.running, p.broken = false, err != nil
	p.mu.Unlock()
	if err != nil && p.failed != nil && p.ctx.Err() == nil {
		p.failed(err)
	}
}

func (p *pruner) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.done.Wait()
}

// prune walks all counters, a batch a statement.
func (s *Store) prune(ctx context.Context) error {
	var after []byte
	for {
		last, err := s.db.PruneCounters(ctx, s.clock, after, pruneBatch)
		if err != nil {
			return fmt.Errorf("delete expired counters: %w", err)
		}
		if last == nil {
			return nil
		}
		after = last
	}
}
