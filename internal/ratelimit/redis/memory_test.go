package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

// BenchmarkKeyMemory reports how much of Redis's memory an active key takes, for each algorithm and as many units of its
// window as are spent: docs/operations.md sizes Redis by it.
func BenchmarkKeyMemory(b *testing.B) {
	cases := []struct {
		name  string
		limit ratelimit.Limit
		spent int
	}{
		{"log/1", ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Hour}, 1},
		{"log/30", ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Hour}, 30},
		{"log/100", ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Hour}, 100},
		{"segments/30", ratelimit.Limit{Algorithm: ratelimit.Segments, N: 20_000, Window: 24 * time.Hour}, 30},
		{"bucket", ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 600, Refill: 10}, 1},
		{"fixed", ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: 600, Window: time.Hour}, 1},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			s := newStore(b, redistest.Start(b).URL)
			before := usedMemory(b, s)
			const keys = 2000
			for b.Loop() {
				for i := range keys {
					id := strconv.Itoa(i)
					charge := ratelimit.Charge{Key: ratelimit.Key{Budget: c.name, Group: "organisation-" + id, ID: "user-" + id}, Limit: c.limit, Cost: 1}
					for range c.spent {
						if _, err := s.Take(b.Context(), []ratelimit.Charge{charge}); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			b.ReportMetric(float64(usedMemory(b, s)-before)/keys, "B/key")
		})
	}
}

func usedMemory(b *testing.B, s *Store) int64 {
	b.Helper()
	text, err := s.client.Info(b.Context(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory_dataset:"); ok {
			var n int64
			if _, err := fmt.Sscan(value, &n); err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("INFO does not say how much memory is used")
	return 0
}
