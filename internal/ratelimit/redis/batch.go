package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// flights is how many batches may be under way at once. A second one fills the time in which the first one's
	// answers travel and are handed out; more would only make them smaller.
	flights = 2
	// clusterBatchers is how many batchers share a cluster's slots: enough that a node that is down keeps up few of the
	// commands for others, and few enough that batches stay large.
	clusterBatchers = 8
	// batchLimit bounds a batch, so that its last command is not kept from its deadline by its first.
	batchLimit = 256
)

// batchers send commands by way of the batcher that has their slot.
type batchers []*batcher

func newBatchers(client goredis.UniversalClient, timeout time.Duration) batchers {
	n := 1
	if _, ok := client.(*goredis.ClusterClient); ok {
		n = clusterBatchers
	}
	all := make(batchers, n)
	for i := range all {
		all[i] = &batcher{client: client, timeout: timeout}
	}
	return all
}

func (all batchers) do(ctx context.Context, cmd *command) error {
	if len(all) == 1 {
		return all[0].do(ctx, cmd)
	}
	return all[slotOf(cmd.tag)*len(all)/slotCount].do(ctx, cmd)
}

// A batcher sends the commands of concurrent callers together: while as many batches are under way as may be, commands
// gather and make up the next one. A lone caller waits for nobody, and nothing runs when nobody calls.
type batcher struct {
	client  goredis.UniversalClient
	timeout time.Duration

	mu      sync.Mutex
	flying  int
	waiting []*queued
}

// A queued command is waiting for its batch, or in it.
type queued struct {
	cmd  *command
	err  error
	done chan struct{}
}

// do sends the command and waits for its answer, no longer than the context allows. One that has not left by then
// never will.
func (b *batcher) do(ctx context.Context, cmd *command) error {
	q, ok := b.join(cmd)
	if ok {
		defer b.land() //nolint:contextcheck // The batches that follow are other callers', with a deadline of their own.
		return b.client.Process(ctx, cmd)
	}
	select {
	case <-q.done:
		return q.err
	case <-ctx.Done():
		b.withdraw(q)
		return ctx.Err()
	}
}

// join says that the command may leave at once, or queues it.
func (b *batcher) join(cmd *command) (*queued, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flying < flights {
		b.flying++
		return nil, true
	}
	q := &queued{cmd: cmd, done: make(chan struct{})}
	b.waiting = append(b.waiting, q)
	return q, false
}

func (b *batcher) withdraw(q *queued) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, q); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
}

// land ends a lone caller's flight. Those who gathered meanwhile go on without it, so that it need not wait for them.
func (b *batcher) land() {
	if batch := b.next(); batch != nil {
		go b.fly(batch)
	}
}

// fly sends batch after batch until nobody waits.
func (b *batcher) fly(batch []*queued) {
	for batch != nil {
		b.exec(batch)
		batch = b.next()
	}
}

// next is the next batch, or nil, which ends the flight.
func (b *batcher) next() []*queued {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), batchLimit)
	if n == 0 {
		b.flying--
		return nil
	}
	batch := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return batch
}

func (b *batcher) exec(batch []*queued) {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	pipe := b.client.Pipeline()
	for _, q := range batch {
		_ = pipe.Process(ctx, q.cmd)
	}
	_, _ = pipe.Exec(ctx) // Each command has its own error.
	for _, q := range batch {
		q.err = q.cmd.Err()
		close(q.done)
	}
}
