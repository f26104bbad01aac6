package ratelimit_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

// A logOnly store counts by logs alone.
type logOnly struct{ *memory.Store }

func (logOnly) Supports(a ratelimit.Algorithm) bool { return a == ratelimit.SlidingLog }

// TestLint spoils one thing of a sound table, and wants the fault and its fix named.
func TestLint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*ratelimit.Config)
		want  string
	}{
		{"sound", func(*ratelimit.Config) {}, ""},
		{"no budgets", func(c *ratelimit.Config) { c.Budgets = nil }, ""},
		{"listed twice", func(c *ratelimit.Config) { c.Budgets[1].Name = "open" }, `budget "open": listed twice: give each row a name of its own`},
		{"no name", func(c *ratelimit.Config) { c.Budgets[0].Name = "" }, "in lower case"},
		{"a key in the name", func(c *ratelimit.Config) { c.Budgets[0].Name = "user:42" }, "in lower case"},
		{"a long name", func(c *ratelimit.Config) { c.Budgets[0].Name = strings.Repeat("a", 65) }, "at most 64 bytes"},
		{"no mode", func(c *ratelimit.Config) { c.Budgets[0].OnFailure = 0 }, "use open, local or closed"},
		{"an unknown store", func(c *ratelimit.Config) { c.Budgets[0].Store = "redis" }, `store "redis" is unknown: use one of memory, shared`},
		{"no local store", func(c *ratelimit.Config) { c.Local = nil }, `budget "local": is counted in this process when its store fails`},
		{"a store without the algorithm", func(c *ratelimit.Config) {
			c.Stores["shared"] = logOnly{}
			c.Budgets[0].Limit = ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: 1, Window: time.Second}
		}, "store shared does not count fixed-window"},
		{"a local store without the algorithm", func(c *ratelimit.Config) {
			c.Local = logOnly{}
			c.Budgets[1].Limit = ratelimit.Limit{Algorithm: ratelimit.Segments, N: 1, Window: time.Second}
		}, "the local store does not count sliding-window-segments"},
		{"a cost above the limit", func(c *ratelimit.Config) { c.Budgets[0].MaxCost = 11 }, "cost 11 is above the limit 10 and never fits"},
		{"a limit that denies everything", func(c *ratelimit.Config) { c.Budgets[0].MaxCost, c.Budgets[0].Limit.N = 1, 0 }, ""},
		{"a cost above a shadow's limit", func(c *ratelimit.Config) { c.Budgets[3].MaxCost = 11 }, ""},
		{"a negative cost", func(c *ratelimit.Config) { c.Budgets[0].MaxCost = -1 }, "cost -1 is negative"},
		{"a negative limit", func(c *ratelimit.Config) { c.Budgets[0].Limit.N = -1 }, "use 0 to deny everything, and Unlimited for no limit"},
		{"a long log", func(c *ratelimit.Config) { c.Budgets[0].Limit.N = 1025 }, "above 1024, the most a log holds: use segments"},
		{"a limit that overflows", func(c *ratelimit.Config) {
			c.Budgets[0].Limit = ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: math.MaxInt64, Window: time.Second}
		}, "the largest that is counted without overflow"},
		{"no window", func(c *ratelimit.Config) { c.Budgets[0].Limit.Window = 0 }, "window 0s is outside 10ms to 8784h0m0s"},
		{"a window that overflows", func(c *ratelimit.Config) { c.Budgets[0].Limit.Window = math.MaxInt64 }, "is outside 10ms to 8784h0m0s"},
		{"a window in nanoseconds", func(c *ratelimit.Config) { c.Budgets[0].Limit.Window = time.Second + 1 }, "not in whole microseconds"},
		{"a window that refills", func(c *ratelimit.Config) { c.Budgets[0].Limit.Refill = 1 }, "belongs to a token bucket only"},
		{"no algorithm", func(c *ratelimit.Config) { c.Budgets[0].Limit.Algorithm = 9 }, "algorithm(9) is unknown"},
		{"a bucket with a window", bucket(ratelimit.Limit{N: 1, Refill: 1, Window: 1}), "a token bucket has no window"},
		{"a bucket without refill", bucket(ratelimit.Limit{N: 1}), "refill 0 a second is outside 1 to"},
		{"a bucket that overflows", bucket(ratelimit.Limit{N: 1, Refill: math.MaxInt64}), "is outside 1 to 1000000000000"},
		{"a bucket that takes years", bucket(ratelimit.Limit{N: ratelimit.MaxLimit, Refill: 1}), "takes longer than 8784h0m0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := memory.New(memory.Config{})
			t.Cleanup(store.Close)
			c := ratelimit.Config{Budgets: table(), Stores: map[string]ratelimit.Store{"shared": store, "memory": store}, Local: store}
			tt.spoil(&c)
			_, err := ratelimit.New(c)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func bucket(l ratelimit.Limit) func(*ratelimit.Config) {
	return func(c *ratelimit.Config) {
		l.Algorithm = ratelimit.TokenBucket
		c.Budgets[0].Limit = l
	}
}

// TestLintSaysAll names every fault at once.
func TestLintSaysAll(t *testing.T) {
	t.Parallel()
	c := ratelimit.Config{Budgets: table()}
	_, err := ratelimit.New(c)
	if err == nil || strings.Count(err.Error(), "is unknown") != len(c.Budgets) {
		t.Errorf("got %v", err)
	}
}
