package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

// impatient is a store with a deadline short enough to test.
func impatient(t *testing.T, url string) *Store {
	t.Helper()
	s, err := New(Config{URL: url, Secret: []byte("a secret of enough bytes"), Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// eventually calls until it succeeds, and fails the test if that takes too long.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

// TestLostReply lets commands run and loses their replies: each is counted once, reported as an error, and not sent
// again; alone and in batches, on a single server and on a cluster.
func TestLostReply(t *testing.T) {
	t.Parallel()
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		proxy := redistest.NewProxy(t, redistest.Start(t).Addr)
		testLostReply(t, proxy.URL, proxy)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.StartCluster(t)
		testLostReply(t, cluster.URL, cluster.Proxies...)
	})
}

func testLostReply(t *testing.T, url string, proxies ...*redistest.Proxy) {
	t.Helper()
	s, healthy := impatient(t, url), newStore(t, url)
	set := func(f redistest.Fault) {
		for _, p := range proxies {
			p.Set(f)
		}
	}
	for round := range 3 {
		alone := charge("user", fmt.Sprint("alone", round), perHour, 1)
		eventually(t, "connect", func() error { return look(t, s, alone) })
		set(redistest.DropReplies)
		if _, err := s.Take(t.Context(), []ratelimit.Charge{alone}); err == nil {
			t.Error("no error for a lost reply")
		}
		set(redistest.Pass)
		eventually(t, "recover", func() error { return look(t, healthy, alone) })
		if got := used(t, healthy, alone); got != 1 {
			t.Errorf("counted %d times, want once", got)
		}
	}
	batched := charge("user", "batched", perHour, 1)
	eventually(t, "connect", func() error { return look(t, s, batched) })
	set(redistest.DropReplies)
	var failed sync.WaitGroup
	for range 20 {
		failed.Go(func() {
			if _, err := s.Take(t.Context(), []ratelimit.Charge{batched}); err == nil {
				t.Error("no error for a lost reply in a batch")
			}
		})
	}
	failed.Wait()
	set(redistest.Pass)
	eventually(t, "recover", func() error { return look(t, healthy, batched) })
	if got := used(t, healthy, batched); got < 1 || got > 20 {
		t.Errorf("counted %d times, want at most the 20 calls", got)
	}
}

func look(t *testing.T, s *Store, c ratelimit.Charge) error {
	t.Helper()
	c.Cost = 0
	_, err := s.Take(t.Context(), []ratelimit.Charge{c})
	return err
}

// TestNoRetry holds what keeps the client library from sending a command a second time.
func TestNoRetry(t *testing.T) {
	t.Parallel()
	s := newStore(t, "redis://127.0.0.1:1")
	c := charge("user", "alice", perHour, 1)
	if !newCommand(t.Context(), "evalsha", s.take.hash, []string{s.keyOf(c)}, nil).NoRetry() {
		t.Error("a command may be retried")
	}
	if o := s.client.(*goredis.Client).Options(); o.MaxRetries != 0 || !o.ContextTimeoutEnabled {
		t.Errorf("options %+v", o)
	}
}

// TestSlotMoves moves the slot of a key from node to node under calls: ASK and MOVED are followed and each call counts
// once.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.URL)
	c := charge("user", "alice", perHour, 1)
	takes := func(n int) {
		t.Helper()
		for range n {
			if v := takeOne(t, s, c); !v.OK {
				t.Errorf("refused: %+v", v)
			}
		}
	}
	takes(10)
	m := newMove(t, cluster, s.keyOf(c))
	m.begin()
	takes(10) // The key is still where it was.
	m.moveKey(s.keyOf(c))
	takes(10) // The old node answers ASK.
	m.end()
	takes(10) // The old node answers MOVED, and the new one knows no script.
	if got := used(t, s, c); got != 40 {
		t.Errorf("%d counted, want 40", got)
	}
}

// A move takes one slot from the node that has it to another.
type move struct {
	t        *testing.T
	slot     int
	from, to *goredis.Client
	fromID   string
	toID     string
	toAddr   string
}

func newMove(t *testing.T, cluster *redistest.Cluster, key string) *move {
	t.Helper()
	m := &move{t: t, slot: slotOf(tagOf(key))}
	from := m.slot * len(cluster.Nodes) / slotCount
	to := cluster.Nodes[(from+1)%len(cluster.Nodes)]
	m.from, m.to, m.toAddr = cluster.Nodes[from].Client(t), to.Client(t), to.Addr
	m.fromID, m.toID = m.do(m.from, "cluster", "myid"), m.do(m.to, "cluster", "myid")
	return m
}

func (m *move) begin() {
	m.t.Helper()
	m.do(m.to, "cluster", "setslot", m.slot, "importing", m.fromID)
	m.do(m.from, "cluster", "setslot", m.slot, "migrating", m.toID)
}

func (m *move) moveKey(key string) {
	m.t.Helper()
	host, port, _ := strings.Cut(m.toAddr, ":")
	m.do(m.from, "migrate", host, port, key, 0, 5000)
}

func (m *move) end() {
	m.t.Helper()
	m.do(m.to, "cluster", "setslot", m.slot, "node", m.toID)
	m.do(m.from, "cluster", "setslot", m.slot, "node", m.toID)
}

func (m *move) do(client *goredis.Client, args ...any) string {
	m.t.Helper()
	text, err := client.Do(m.t.Context(), args...).Text()
	if err != nil {
		m.t.Fatalf("%v: %v", args, err)
	}
	return text
}

// TestClusterSpreads charges many groups: every decision is on one slot, and all nodes have some.
func TestClusterSpreads(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, cluster.URL)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			group := strconv.Itoa(i)
			var charges []ratelimit.Charge
			for _, budget := range []string{"user", "org", "tasks.parse"} {
				charges = append(charges, ratelimit.Charge{Key: ratelimit.Key{Budget: budget, Group: group, ID: budget}, Limit: perHour, Cost: 1})
			}
			if _, err := s.Take(t.Context(), charges); err != nil {
				t.Errorf("group %s: %v", group, err)
			}
		})
	}
	wg.Wait()
	total := 0
	for i, node := range cluster.Nodes {
		n := len(node.Client(t).Keys(t.Context(), "*").Val())
		if n == 0 {
			t.Errorf("node %d has no key", i)
		}
		total += n
	}
	if total != 180 {
		t.Errorf("%d keys, want 180", total)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

// TestOneNodeDown stops one of three masters, and has callers of groups all over the slots at once: calls to the others
// go on, and none of them waits for those to the one that is down.
func TestOneNodeDown(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s, err := New(Config{URL: cluster.URL, Secret: []byte("a secret of enough bytes"), Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	charges := map[int][]ratelimit.Charge{} // By node.
	for i := range 90 {
		c := charge("user", "alice", perHour, 1)
		c.Key.Group = strconv.Itoa(i)
		node := slotOf(tagOf(s.keyOf(c))) * len(cluster.Nodes) / slotCount
		charges[node] = append(charges[node], c)
		eventually(t, "connect", func() error { return look(t, s, c) })
	}
	cluster.Nodes[0].Pause()
	var down, up sync.WaitGroup
	for node, all := range charges {
		for _, c := range all {
			if node > 0 {
				up.Go(func() { takeOne(t, s, c) })
				continue
			}
			down.Go(func() {
				if _, err := s.Take(t.Context(), []ratelimit.Charge{c}); err == nil {
					t.Error("a call succeeded without its node")
				}
			})
		}
	}
	up.Wait()
	down.Wait()
	cluster.Nodes[0].Resume()
	eventually(t, "resume", func() error { return look(t, s, charges[0][0]) })
	eventually(t, "release", func() error {
		n := s.sender.(*nodes)
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.batchers) > 0 {
			return fmt.Errorf("%d batchers of nodes are kept though nobody calls", len(n.batchers))
		}
		return nil
	})
}

// TestOutage pauses the server, then loses its packets, then resets and refuses connections, each under load: no call
// takes much longer than the deadline, connections stay few, and afterwards the budgets apply as before.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := impatient(t, proxy.URL)
	c := charge("user", "outage", perHour, 1)
	outages := []struct {
		name       string
		begin, end func()
	}{
		{"paused", server.Pause, server.Resume},
		{"black-holed", func() { proxy.Set(redistest.BlackHole) }, func() { proxy.Set(redistest.Pass) }},
		{"reset", func() { proxy.Set(redistest.Reset); proxy.ResetAll() }, func() { proxy.Set(redistest.Pass) }},
		{"killed", server.Kill, server.Restart},
	}
	for _, o := range outages {
		eventually(t, "before "+o.name, func() error { return look(t, s, c) })
		o.begin()
		slowest := failAll(t, s, c)
		if open := proxy.Open(); open > poolSize {
			t.Errorf("%s: %d connections, want at most %d", o.name, open, poolSize)
		}
		o.end()
		if slowest > 10*s.timeout {
			t.Errorf("%s: a call took %v with a deadline of %v", o.name, slowest, s.timeout)
		}
		eventually(t, "after "+o.name, func() error { return look(t, s, c) })
		fresh := charge("user", "after "+o.name, perHour, 1)
		if v := takeOne(t, s, fresh); !v.OK || v.Remaining != 99 {
			t.Errorf("after %s: %+v", o.name, v)
		}
	}
}

// failAll makes 64 callers call four times each, all in vain, and returns how long the slowest call took.
func failAll(t *testing.T, s *Store, c ratelimit.Charge) time.Duration {
	t.Helper()
	var slowest atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 4 {
				began := time.Now()
				if _, err := s.Take(t.Context(), []ratelimit.Charge{c}); err == nil {
					t.Error("a call succeeded without a server")
				}
				for took := int64(time.Since(began)); ; {
					before := slowest.Load()
					if took <= before || slowest.CompareAndSwap(before, took) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	return time.Duration(slowest.Load())
}

// TestFailover moves to a replica that is read-only at first: charges fail until it is promoted, and then find the
// history that was replicated. Then it moves back: the old master returns as the replica's replica, is read-only in its
// turn, and is promoted with what was charged meanwhile.
func TestFailover(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	proxy := redistest.NewProxy(t, master.Addr)
	s := newStore(t, proxy.URL)
	c := charge("user", "alice", perHour, 1)
	for range 10 {
		takeOne(t, s, c)
	}
	failOver(t, s, c, proxy, master, replica)
	if v := takeOne(t, s, c); !v.OK || v.Remaining != 89 {
		t.Errorf("after the failover: %+v, want 89 left", v)
	}
	master.Restart()
	follow(t, master, replica)
	failOver(t, s, c, proxy, replica, master)
	if v := takeOne(t, s, c); !v.OK || v.Remaining != 88 {
		t.Errorf("after the way back: %+v, want 88 left", v)
	}
	if open := proxy.Open(); open > poolSize {
		t.Errorf("%d connections, want at most %d", open, poolSize)
	}
}

// failOver kills the master, sends calls to its replica, which refuses to write, and promotes that.
func failOver(t *testing.T, s *Store, c ratelimit.Charge, proxy *redistest.Proxy, master, replica *redistest.Server) {
	t.Helper()
	if n, err := master.Client(t).Wait(t.Context(), 1, 10*time.Second).Result(); err != nil || n != 1 {
		t.Fatalf("%d replicas have everything: %v", n, err)
	}
	proxy.Retarget(replica.Addr)
	master.Kill()
	readOnly := 0
	for range 20 {
		if _, err := s.Take(t.Context(), []ratelimit.Charge{c}); goredis.IsReadOnlyError(err) {
			readOnly++
		} else if err == nil {
			t.Error("a read-only replica recorded a charge")
		}
	}
	if readOnly == 0 {
		t.Error("no call reached the replica")
	}
	if err := replica.Client(t).Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "promote", func() error { return look(t, s, c) })
}

// startPair starts a master and its replica, in step.
func startPair(t *testing.T) (master, replica *redistest.Server) {
	t.Helper()
	master = redistest.Start(t, "--repl-diskless-sync-delay", "0")
	replica = redistest.Start(t, "--repl-diskless-sync-delay", "0")
	follow(t, replica, master)
	return master, replica
}

// follow makes a server the replica of another, and returns when it is in step.
func follow(t *testing.T, replica, master *redistest.Server) {
	t.Helper()
	host, port, _ := strings.Cut(master.Addr, ":")
	direct := replica.Client(t)
	if err := direct.Do(t.Context(), "replicaof", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "replicate", func() error {
		if info := direct.Info(t.Context(), "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return nil
	})
}

// TestSentinel follows the master that a sentinel names, over its death.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master, _ := startPair(t)
	sentinel := redistest.StartSentinel(t, "main", master)
	watch := sentinel.Client(t)
	eventually(t, "find the replica", func() error {
		replicas, err := watch.Do(t.Context(), "sentinel", "replicas", "main").Slice()
		if err == nil && len(replicas) == 0 {
			return errors.New("the sentinel knows of no replica")
		}
		return err
	})
	s := newStore(t, "redis+sentinel://"+sentinel.Addr+"/main/0")
	c := charge("user", "alice", perHour, 1)
	for range 10 {
		takeOne(t, s, c)
	}
	master.Client(t).Wait(t.Context(), 1, 10*time.Second)
	master.Kill()
	var v []ratelimit.Verdict
	eventually(t, "fail over", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var err error
		v, err = s.Take(ctx, []ratelimit.Charge{c})
		return err
	})
	if !v[0].OK || v[0].Remaining != 89 {
		t.Errorf("after the failover: %+v, want 89 left", v[0])
	}
}

// TestQueuedCallsLeaveTheQueue holds that a call which gave up while it was waiting for its batch is never sent.
func TestQueuedCallsLeaveTheQueue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.URL)
	c := charge("user", "queue", perHour, 1)
	takeOne(t, s, charge("user", "warm", perHour, 1))
	server.Pause()
	var flying sync.WaitGroup
	for range flights {
		flying.Go(func() {
			if _, err := s.Take(t.Context(), []ratelimit.Charge{c}); err != nil {
				t.Errorf("take: %v", err)
			}
		})
	}
	eventually(t, "fly", func() error {
		b := s.sender.(*batcher)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.flying < flights {
			return errors.New("not all are under way")
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var queued sync.WaitGroup
	for range 50 {
		queued.Go(func() {
			if _, err := s.Take(ctx, []ratelimit.Charge{c}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("queued call: %v", err)
			}
		})
	}
	queued.Wait()
	server.Resume()
	flying.Wait()
	if got := used(t, s, c); got != flights {
		t.Errorf("%d counted, want the %d that were sent", got, flights)
	}
}

// TestCloseLeavesNothing is not parallel: it counts goroutines.
func TestCloseLeavesNothing(t *testing.T) {
	server := redistest.Start(t)
	before := goleak.IgnoreCurrent()
	s := newStore(t, server.URL)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { takeOne(t, s, charge("user", "close", perHour, 1)) })
	}
	wg.Wait()
	if stats := s.Stats(); stats.Open < 1 || stats.Open > poolSize {
		t.Errorf("%+v, want 1 to %d connections", stats, poolSize)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	goleak.VerifyNone(t, before)
	if _, err := s.Take(t.Context(), []ratelimit.Charge{charge("user", "close", perHour, 1)}); err == nil {
		t.Error("a closed store counted")
	}
}
