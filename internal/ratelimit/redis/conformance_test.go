package redis

import (
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

var _ ratelimit.Returner = (*Store)(nil)

// TestConformance runs the suite that every store passes against each way to reach Redis.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("injected clock", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness { return clocked(t, server.URL) })
	})
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness { return shared(t, server.URL) })
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.StartCluster(t)
		ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness { return shared(t, cluster.URL) })
	})
	t.Run("slow network", func(t *testing.T) {
		t.Parallel()
		proxy := redistest.NewProxy(t, redistest.Start(t).Addr)
		proxy.Delay(time.Millisecond)
		ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness { return shared(t, proxy.URL) })
	})
}

// clocked is a store with a clock of the test's own.
func clocked(t *testing.T, url string) ratelimittest.Harness {
	var offset atomic.Int64
	began := time.Now()
	s := newStore(t, url)
	s.clock = func() time.Time { return began.Add(time.Duration(offset.Load())) }
	return ratelimittest.Harness{Store: s, Advance: func(d time.Duration) { offset.Add(int64(d)) }}
}

// shared is four processes' handles on one Redis.
func shared(t *testing.T, url string) ratelimittest.Harness {
	return ratelimittest.Harness{
		Store:  newStore(t, url),
		Others: []ratelimit.Store{newStore(t, url), newStore(t, url), newStore(t, url)},
	}
}
