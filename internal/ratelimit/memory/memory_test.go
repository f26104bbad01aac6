package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit/memory"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
)

// A clock is set by hand.
type clock struct{ now atomic.Int64 }

func (c *clock) read() time.Duration     { return time.Duration(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

func open(t *testing.T, config memory.Config) *memory.Store {
	t.Helper()
	s := memory.New(config)
	t.Cleanup(s.Close)
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
		c := new(clock)
		return ratelimittest.Harness{Store: open(t, memory.Config{Clock: c.read}), Advance: c.advance}
	})
}

// TestConformanceOnRealClock runs the same suite as a store whose clock cannot be set must pass it.
func TestConformanceOnRealClock(t *testing.T) {
	t.Parallel()
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
		return ratelimittest.Harness{Store: open(t, memory.Config{})}
	})
}
