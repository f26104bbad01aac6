package redistest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

// client gives up after a quarter of a second and never retries, so that faults show.
func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DialerRetries: 1})
	t.Cleanup(func() { c.Close() })
	return c
}

func ping(t *testing.T, c *redis.Client) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	return c.Ping(ctx).Err()
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	c := client(t, server.Addr)
	if got := c.ConfigGet(t.Context(), "maxmemory-policy").Val()["maxmemory-policy"]; got != "allkeys-lru" {
		t.Errorf("maxmemory-policy = %q, want the argument", got)
	}
	server.Pause()
	if ping(t, c) == nil {
		t.Error("a paused server answered")
	}
	server.Resume()
	if err := ping(t, client(t, server.Addr)); err != nil {
		t.Errorf("after Resume: %v", err)
	}
	server.Kill()
	if ping(t, c) == nil {
		t.Error("a killed server answered")
	}
	server.Restart()
	if err := ping(t, client(t, server.Addr)); err != nil {
		t.Errorf("after Restart: %v", err)
	}
}

func TestProxyFaults(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	direct := client(t, server.Addr)
	tests := map[string]struct {
		fault    redistest.Fault
		executed int64
	}{
		"pass":         {redistest.Pass, 1},
		"drop replies": {redistest.DropReplies, 1},
		"black hole":   {redistest.BlackHole, 0},
		"reset":        {redistest.Reset, 0},
	}
	for name, test := range tests {
		c := client(t, proxy.Addr)
		if err := ping(t, c); err != nil {
			t.Fatalf("%s: before the fault: %v", name, err)
		}
		proxy.Set(test.fault)
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		err := c.Incr(ctx, name).Err()
		cancel()
		if (err == nil) != (test.fault == redistest.Pass) {
			t.Errorf("%s: error %v", name, err)
		}
		if got, _ := direct.Get(t.Context(), name).Int64(); got != test.executed {
			t.Errorf("%s: executed %d times, want %d", name, got, test.executed)
		}
		proxy.Set(redistest.Pass)
	}
}

func TestClusterAnnouncesItsProxies(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	shards, err := cluster.Nodes[0].Client(t).ClusterShards(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, s := range shards {
		got[fmt.Sprintf("%s:%d", s.Nodes[0].IP, s.Nodes[0].Port)] = true
	}
	for _, p := range cluster.Proxies {
		if !got[p.Addr] {
			t.Errorf("the cluster announces %v, want %s among them", got, p.Addr)
		}
	}
}
