// Package redis counts budgets in Redis, so that all processes that share it count together.
//
// One decision is one run of a script, however many budgets it charges, and either all charges of it are recorded or none
// is; decisions of concurrent callers share a run. Time is Redis's own, so the clocks of processes do not matter; a step of
// Redis's clock is guarded against. A command of which it is not known whether it ran is never sent again.
package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"example.com/gatehouse/internal/ratelimit"
)

// defaultTimeout bounds one call: many times what Redis takes over a local network, and little beside a request.
const defaultTimeout = 50 * time.Millisecond

// minSecret is the least length of a secret in bytes.
const minSecret = 16

// A Config says which Redis counts, and how its keys are hidden.
type Config struct {
	// URL is redis://, rediss://, unix://, or redis+cluster:// and rediss+cluster:// with hosts after commas.
	URL string
	// Secret keys the hash that stands for ids in Redis. All processes that are to count together need the same, of at
	// least 16 bytes; with another secret they begin with empty counters.
	Secret []byte
	// Timeout bounds each call from queue to answer; 0 takes read_timeout from the URL's query, else 50 ms.
	Timeout time.Duration
	// Trace, if not nil, is called before each run of a script with its name, "take" or "giveback", and what it returns
	// with the outcome. The time between is the caller's, in a queue or not.
	Trace func(ctx context.Context, script string) (context.Context, func(error))
}

// A Store counts in one Redis or Redis Cluster. It is safe for concurrent use.
type Store struct {
	client  goredis.UniversalClient
	keys    *keyring
	timeout time.Duration
	sender  sender
	trace   func(context.Context, string) (context.Context, func(error))

	take, giveBack script
	// clock is what scripts take for the time: nil, but in tests, means Redis's own.
	clock func() time.Time
}

// New makes the store and its client. It connects to nothing: a Redis that is down fails calls, not the start.
func New(config Config) (*Store, error) {
	if len(config.Secret) < minSecret {
		return nil, fmt.Errorf("the secret has %d bytes: use at least %d", len(config.Secret), minSecret)
	}
	if config.Timeout <= 0 {
		var err error
		if config.Timeout, err = timeoutIn(config.URL); err != nil {
			return nil, err
		}
	}
	client, err := newClient(config.URL, config.Timeout)
	if err != nil {
		return nil, err
	}
	s := &Store{
		client:   client,
		keys:     newKeyring(config.Secret),
		timeout:  config.Timeout,
		trace:    config.Trace,
		take:     newScript("take.lua"),
		giveBack: newScript("giveback.lua"),
	}
	s.sender = newSender(s)
	return s, nil
}

// Take implements ratelimit.Store. All charges of a call must share one Key.Group, which chooses the slot.
func (s *Store) Take(ctx context.Context, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	if err := ratelimit.CheckCharges(charges); err != nil {
		return nil, err
	}
	if len(charges) == 0 {
		return nil, nil
	}
	d, err := s.decision(charges)
	if err != nil {
		return nil, err
	}
	ctx, ended := s.begin(ctx, &s.take)
	err = s.sender.send(ctx, d)
	ended(err)
	if err != nil {
		return nil, fmt.Errorf("take %d charges: %w", len(charges), err)
	}
	return decodeVerdicts(d, charges)
}

// GiveBack implements ratelimit.Returner. All returns of a call must share one Key.Group.
func (s *Store) GiveBack(ctx context.Context, returns []ratelimit.Return) ([]int64, error) {
	if len(returns) == 0 {
		return nil, nil
	}
	tag := s.keys.tag(returns[0].Key.Group)
	keys := make([]string, len(returns))
	for i := range returns {
		if returns[i].Key.Group != returns[0].Key.Group {
			return nil, errGroups
		}
		keys[i] = s.keys.key(tag, &returns[i].Key, returns[i].Limit.Algorithm)
	}
	ctx, ended := s.begin(ctx, &s.giveBack)
	answer, err := s.run(ctx, &s.giveBack, keys, encodeReturns(s.now(), returns))
	ended(err)
	if err != nil {
		return nil, fmt.Errorf("give back %d charges: %w", len(returns), err)
	}
	return decodeReturned(answer, len(returns))
}

// Reset implements ratelimit.Store: the keys' counters are as if never used, also those that hold what no counter is.
func (s *Store) Reset(ctx context.Context, keys ...ratelimit.Key) error {
	for _, key := range keys {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		err := s.client.Del(ctx, s.keys.all(&key)...).Err()
		cancel()
		if err != nil {
			return fmt.Errorf("reset a key of budget %q: %w", key.Budget, err)
		}
	}
	return nil
}

// errGroups is a fault of the caller.
var errGroups = fmt.Errorf("%w: the keys of one call have different groups: all of a decision must share one", ratelimit.ErrCharge)

// decision is what has to be sent for the charges. It keeps nothing of them, which are the caller's again when a call has
// given up that is still under way.
func (s *Store) decision(charges []ratelimit.Charge) (*decision, error) {
	if len(charges) > maxCharges {
		return nil, fmt.Errorf("%w: %d in one decision: Redis takes at most %d", ratelimit.ErrCharge, len(charges), maxCharges)
	}
	now, tag := s.now(), s.keys.tag(charges[0].Key.Group)
	d := &decision{keys: make([]string, len(charges)), terms: make([]terms, len(charges))}
	for i := range charges {
		c := &charges[i]
		if c.Key.Group != charges[0].Key.Group {
			return nil, errGroups
		}
		d.keys[i], d.terms[i] = s.keys.key(tag, &c.Key, c.Limit.Algorithm), termsOf(now, c)
	}
	return d, nil
}

// now is the time in microseconds that goes with a command; 0 has the script ask Redis.
func (s *Store) now() uint64 {
	if s.clock == nil {
		return 0
	}
	return uint64(s.clock().UnixMicro())
}

// Timeout is what bounds each call.
func (s *Store) Timeout() time.Duration { return s.timeout }

// Ping asks Redis, or every master of a cluster, for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error { return c.Ping(ctx).Err() }); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}

// Warnings says what in Redis's settings would undo counters, in whole sentences for an operator; none is good.
func (s *Store) Warnings(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var mu sync.Mutex
	found := map[string]struct{}{}
	err := s.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		memory, err := c.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		if w := evictionWarning(memory); w != "" {
			mu.Lock()
			found[w] = struct{}{}
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read redis settings: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// evictionWarning reads INFO's memory section, which, unlike CONFIG, hosted servers answer too. Every counter has a
// time to live, so also the policies that evict only such keys evict counters.
func evictionWarning(memory string) string {
	var policy string
	for line := range strings.Lines(memory) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok {
			policy = v
		}
	}
	if policy == "" || policy == "noeviction" {
		return ""
	}
	return fmt.Sprintf("Redis evicts counters when its memory is full (maxmemory-policy %s), which gives budgets back early: "+
		"set it to noeviction, or give the limiter a Redis of its own.", policy)
}

func (s *Store) eachMaster(ctx context.Context, ask func(context.Context, *goredis.Client) error) error {
	switch c := s.client.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, ask)
	case *goredis.Client:
		return ask(ctx, c)
	}
	return errors.New("the client is of an unknown kind")
}

// Stats are the connections of the store's pools, to all servers of a cluster together.
type Stats struct {
	// Open connections, those of them that are idle, and how many calls had to do without one in time.
	Open, Idle, Timeouts int
	// Max is the most connections to one server.
	Max int
	// Waits are the calls for which no connection was free at once, and Waited how long they waited all together.
	Waits  int
	Waited time.Duration
}

// Stats says how the connections are.
func (s *Store) Stats() Stats {
	p := s.client.PoolStats()
	return Stats{
		Open: int(p.TotalConns), Idle: int(p.IdleConns), Timeouts: int(p.Timeouts), Max: poolSize,
		Waits: int(p.WaitCount), Waited: time.Duration(p.WaitDurationNs),
	}
}

// Close ends all connections; calls under way fail.
func (s *Store) Close() error { return s.client.Close() }
