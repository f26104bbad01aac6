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
	ways := map[string]func(*testing.T) (url string){
		"single":       startSingle,
		"cluster":      startCluster,
		"slow network": startSlow,
	}
	for name, start := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
				t.Helper()
				return harness(t, url)
			})
		})
	}
}

func startSingle(t *testing.T) string {
	t.Helper()
	return redistest.Start(t).URL
}

func startCluster(t *testing.T) string {
	t.Helper()
	return redistest.StartCluster(t).URL
}

func startSlow(t *testing.T) string {
	t.Helper()
	proxy := redistest.NewProxy(t, redistest.Start(t).Addr)
	proxy.Delay(time.Millisecond)
	return proxy.URL
}

// harness is four processes' handles on one Redis, whose clock is the test's.
func harness(t *testing.T, url string) ratelimittest.Harness {
	t.Helper()
	var offset atomic.Int64
	began := time.Now()
	open := func() ratelimit.Store {
		s := newStore(t, url)
		s.clock = func() time.Time { return began.Add(time.Duration(offset.Load())) }
		return s
	}
	return ratelimittest.Harness{
		Store:   open(),
		Others:  []ratelimit.Store{open(), open(), open()},
		Advance: func(d time.Duration) { offset.Add(int64(d)) },
	}
}
