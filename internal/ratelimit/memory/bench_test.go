package memory_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

// BenchmarkTake measures one decision of one budget: the hot key admitted and denied, and many keys, from one goroutine
// and in parallel. Beside the time it reports the processor time that a decision takes, which depends less on what else
// the machine is doing.
func BenchmarkTake(b *testing.B) {
	perMinute := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Minute}
	// Short enough that hits leave again, so that the benchmark keeps admitting.
	admitting := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: ratelimit.MaxLog, Window: ratelimit.MinWindow}
	bucket := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 1_000_000_000, Refill: 1_000_000_000}
	tests := []struct {
		name  string
		limit ratelimit.Limit
		keys  int
	}{
		{"hot key denied", perMinute, 1},
		{"hot key log", admitting, 1},
		{"hot key bucket", bucket, 1},
		{"100k keys", perMinute, 100_000},
		{"1M keys", perMinute, 1_000_000},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) { benchTake(b, tt.limit, tt.keys, false) })
		b.Run(tt.name+" parallel", func(b *testing.B) { benchTake(b, tt.limit, tt.keys, true) })
	}
}

func benchTake(b *testing.B, limit ratelimit.Limit, keys int, parallel bool) {
	b.Helper()
	s := memory.New(memory.Config{Keys: 2 * keys})
	defer s.Close()
	ids := make([]string, keys)
	for i := range ids {
		ids[i] = "203.0.113." + strconv.Itoa(i)
	}
	run := func(next func() bool) {
		random := rand.New(rand.NewPCG(rand.Uint64(), 1))
		charges := []ratelimit.Charge{{Limit: limit, Cost: 1}}
		verdicts := make([]ratelimit.Verdict, 0, 1)
		for next() {
			id := ids[random.IntN(len(ids))]
			charges[0].Key = ratelimit.Key{Budget: "edge", Group: id, ID: id}
			if _, err := s.AppendTake(verdicts, charges); err != nil {
				b.Error(err)
			}
		}
	}
	for _, id := range ids {
		if _, err := s.Take(context.Background(), []ratelimit.Charge{{Key: ratelimit.Key{Budget: "edge", Group: id, ID: id}, Limit: limit, Cost: 1}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	if parallel {
		b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
	} else {
		run(b.Loop)
		b.ReportMetric(float64(s.Stats().Bytes)/float64(keys), "B/key")
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTakeThree measures one decision of three budgets.
func BenchmarkTakeThree(b *testing.B) {
	s := memory.New(memory.Config{})
	defer s.Close()
	limit := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: ratelimit.MaxLog, Window: ratelimit.MinWindow}
	var charges []ratelimit.Charge
	for _, budget := range []string{"user", "org", "tasks.parse"} {
		charges = append(charges, ratelimit.Charge{Key: ratelimit.Key{Budget: budget, Group: "acme", ID: budget}, Limit: limit, Cost: 1})
	}
	verdicts := make([]ratelimit.Verdict, 0, 3)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.AppendTake(verdicts, charges); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewKeys measures addresses that come once, with the store full of others.
func BenchmarkNewKeys(b *testing.B) {
	s := memory.New(memory.Config{Keys: 100_000})
	defer s.Close()
	charges := []ratelimit.Charge{{Limit: ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Minute}, Cost: 1}}
	verdicts := make([]ratelimit.Verdict, 0, 1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		charges[0].Key.ID = strconv.Itoa(n)
		if _, err := s.AppendTake(verdicts, charges); err != nil {
			b.Fatal(err)
		}
	}
}
