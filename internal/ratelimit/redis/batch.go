package redis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// flights is how many batches may be under way at once. A second one fills the time in which the first one's
	// answers travel and are handed out; more would only make them smaller.
	flights = 2
	// batchLimit bounds a batch: Redis does nothing else while it decides one, for up to about a millisecond.
	batchLimit = 64
)

// A decision is one call of Take on its way to Redis.
type decision struct {
	keys  []string // One a charge, as are the terms.
	terms []terms

	answer string
	err    error
	done   chan struct{} // Closed when answer or err is set, if the decision had to wait for a batch.
}

// A sender sends a decision and waits for its answer, no longer than the context allows.
type sender interface {
	send(ctx context.Context, d *decision) error
}

// newSender chooses how decisions travel. On a single server, those of concurrent callers are made in one run of the
// script, because half of what a decision costs Redis is the run. In a cluster, where a script must keep to one slot,
// those for one node are a pipeline.
func newSender(s *Store) sender {
	if cluster, ok := s.client.(*goredis.ClusterClient); ok {
		return &nodes{store: s, cluster: cluster, batchers: map[string]*batcher{}}
	}
	return &batcher{store: s, exec: s.decideTogether}
}

// A batcher sends the decisions of concurrent callers together: while as many batches are under way as may be, decisions
// gather and make up the next one. A lone caller waits for nobody, and nothing runs when nobody calls.
type batcher struct {
	store *Store
	// exec sends a batch and sets the answers or errors of its decisions.
	exec func(ctx context.Context, batch []*decision)
	// rested, if not nil, is called when the last flight has ended; others may have begun by then.
	rested func()

	mu      sync.Mutex
	flying  int
	waiting []*decision
}

// send implements sender. A decision that has not left when the context ends never will.
func (b *batcher) send(ctx context.Context, d *decision) error { return b.decide(ctx, d, b.join(d)) }

// decide has a decision that has joined decided: by itself if it may leave, else in the batch that it waits for.
func (b *batcher) decide(ctx context.Context, d *decision, leave bool) error {
	if leave {
		defer b.land() //nolint:contextcheck // The batches that follow are other callers', with a deadline of their own.
		b.exec(ctx, []*decision{d})
		return d.err
	}
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		b.withdraw(d)
		return ctx.Err()
	}
}

// join says that the decision may leave at once, or queues it.
func (b *batcher) join(d *decision) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flying < flights {
		b.flying++
		return true
	}
	d.done = make(chan struct{})
	b.waiting = append(b.waiting, d)
	return false
}

func (b *batcher) withdraw(d *decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, d); i >= 0 {
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
func (b *batcher) fly(batch []*decision) {
	for batch != nil {
		b.flyOnce(batch)
		batch = b.next()
	}
}

func (b *batcher) flyOnce(batch []*decision) {
	ctx, cancel := context.WithTimeout(context.Background(), b.store.timeout)
	defer cancel()
	b.exec(ctx, batch)
	for _, d := range batch {
		close(d.done)
	}
}

// next is the next batch, or nil, which ends the flight.
func (b *batcher) next() []*decision {
	batch, last := b.board()
	if last && b.rested != nil {
		b.rested()
	}
	return batch
}

// board takes the next batch out of the queue. Where there is none the flight is over, and may have been the last.
func (b *batcher) board() (batch []*decision, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := batchSize(b.waiting)
	if n == 0 {
		b.flying--
		return nil, b.flying == 0
	}
	batch = slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return batch, false
}

// resting says that nothing is under way and nobody waits.
func (b *batcher) resting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flying == 0
}

// batchSize is how many of the first decisions one run of the script may make.
func batchSize(waiting []*decision) int {
	charges := 0
	for i, d := range waiting {
		if charges += len(d.keys); i == batchLimit || charges > maxCharges {
			return i
		}
	}
	return len(waiting)
}

// decideTogether makes all decisions in one run of the script.
func (s *Store) decideTogether(ctx context.Context, batch []*decision) {
	keys, args := encodeTakes(s.now(), batch)
	answer, err := s.run(ctx, &s.take, keys, args)
	if err == nil && len(answer) != verdictSize*len(keys) {
		err = fmt.Errorf("the script answered %d bytes to %d charges", len(answer), len(keys))
	}
	for _, d := range batch {
		if d.err = err; err == nil {
			size := verdictSize * len(d.keys)
			d.answer, answer = answer[:size], answer[size:]
		}
	}
}

// nodes send decisions by way of a batcher for each node of a cluster, so that one that is down keeps up no others.
type nodes struct {
	store   *Store
	cluster *goredis.ClusterClient

	mu sync.Mutex
	// batchers are those at work, by the node's address: a node that has gone leaves nothing behind.
	batchers map[string]*batcher
}

// send implements sender.
func (n *nodes) send(ctx context.Context, d *decision) error {
	node, err := n.cluster.MasterForKey(ctx, d.keys[0])
	if err != nil {
		return fmt.Errorf("find the node of a slot: %w", err)
	}
	b, leave := n.join(node.Options().Addr, d)
	return b.decide(ctx, d, leave)
}

// join has the decision join the batcher of its node, which cannot be released before it has.
func (n *nodes) join(addr string, d *decision) (*batcher, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.batchers[addr]
	if b == nil {
		b = &batcher{store: n.store, exec: n.store.decideEach}
		b.rested = func() { n.release(addr, b) }
		n.batchers[addr] = b
	}
	leave := b.join(d)
	return b, leave
}

// release forgets a batcher that has nothing to do.
func (n *nodes) release(addr string, b *batcher) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.batchers[addr] == b && b.resting() {
		delete(n.batchers, addr)
	}
}

// decideEach makes each decision in a run of its own. The client sends a pipeline to the nodes, and follows those that
// send it on.
func (s *Store) decideEach(ctx context.Context, batch []*decision) {
	unknown := s.pipe(ctx, "evalsha", s.take.hash, batch)
	if len(unknown) > 0 {
		s.pipe(ctx, "eval", s.take.source, unknown)
	}
}

// pipe sends a command for each decision, and says for which the node did not know the script: they have not run.
func (s *Store) pipe(ctx context.Context, name, sc string, batch []*decision) (unknown []*decision) {
	pipe, commands := s.client.Pipeline(), make([]*command, len(batch))
	for i, d := range batch {
		keys, args := encodeTakes(s.now(), []*decision{d})
		commands[i] = newCommand(ctx, name, sc, keys, args)
		_ = pipe.Process(ctx, commands[i])
	}
	_, _ = pipe.Exec(ctx) // Each command has its own error.
	for i, d := range batch {
		if d.answer, d.err = commands[i].Result(); d.err != nil && goredis.HasErrorPrefix(d.err, "NOSCRIPT") {
			unknown = append(unknown, d)
		}
	}
	return unknown
}
