package memory_test

import (
	"testing"

	"example.com/gatehouse/internal/ratelimit/memory"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
)

func open(t *testing.T, config memory.Config) *memory.Store {
	t.Helper()
	s := memory.New(config)
	t.Cleanup(s.Close)
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
		t.Helper()
		c := new(ratelimittest.Clock)
		return ratelimittest.Harness{Store: open(t, memory.Config{Clock: c.Elapsed}), Advance: c.Advance}
	})
}

// TestConformanceOnRealClock runs the same suite as a store whose clock cannot be set must pass it.
func TestConformanceOnRealClock(t *testing.T) {
	t.Parallel()
	ratelimittest.Run(t, func(t *testing.T) ratelimittest.Harness {
		t.Helper()
		return ratelimittest.Harness{Store: open(t, memory.Config{})}
	})
}
