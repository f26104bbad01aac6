package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

// BenchmarkTake measures decisions of one, three and five budgets by a lone caller and by many at once, against a Redis
// on this machine. Beside the rate it reports the processor time that a decision takes in Redis and in this process,
// which does not depend on what else the machine is doing.
func BenchmarkTake(b *testing.B) {
	server := redistest.Start(b)
	for _, budgets := range []int{1, 3, 5} {
		for _, callers := range []int{1, 8, 64, 256} {
			b.Run(fmt.Sprintf("budgets=%d/callers=%d", budgets, callers), func(b *testing.B) {
				benchTake(b, newStore(b, server.URL), budgets, callers)
			})
		}
	}
}

// BenchmarkSenders compares the ways to send commands: one by one, through the client library's automatic pipelines,
// and in this package's batches.
func BenchmarkSenders(b *testing.B) {
	server := redistest.Start(b)
	senders := map[string]func(*Store) sender{
		"one by one":          func(s *Store) sender { return direct{s, s.client} },
		"automatic pipelines": func(s *Store) sender { return direct{s, autoPipeline(b, s)} },
		"batches":             func(s *Store) sender { return s.sender },
	}
	for name, sender := range senders {
		for _, callers := range []int{1, 8, 64, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				s := newStore(b, server.URL)
				s.sender = sender(s)
				benchTake(b, s, 3, callers)
			})
		}
	}
}

// direct hands a decision's command to a client, or to one of its automatic pipelines.
type direct struct {
	store  *Store
	client interface {
		Process(ctx context.Context, cmd goredis.Cmder) error
	}
}

func (d direct) send(ctx context.Context, one *decision) error {
	keys, args := encodeTakes(0, []*decision{one})
	cmd := newCommand(ctx, "evalsha", d.store.take.hash, keys, args)
	err := d.client.Process(ctx, cmd)
	one.answer = cmd.Val()
	return err
}

func autoPipeline(b *testing.B, s *Store) *goredis.AutoPipeliner {
	pipelines, err := s.client.(*goredis.Client).AutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	return pipelines
}

func benchTake(b *testing.B, s *Store, budgets, callers int) {
	const users = 1000
	var calls atomic.Int64
	run := func() {
		if _, err := s.Take(context.Background(), benchCharges(budgets, calls.Add(1)%users)); err != nil {
			b.Error(err)
		}
	}
	if err := s.client.ScriptLoad(context.Background(), s.take.source).Err(); err != nil {
		b.Fatal(err)
	}
	run() // Connects.
	redisBefore, ownBefore := redisCPU(b, s), ownCPU(b)
	b.ReportAllocs()
	b.ResetTimer()
	each(b, callers, run)
	b.StopTimer()
	perCall := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(b.N) }
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(perCall(redisCPU(b, s)-redisBefore), "redis-µs/op")
	b.ReportMetric(perCall(ownCPU(b)-ownBefore), "own-µs/op")
}

// each makes b.N calls from so many goroutines.
func each(b *testing.B, callers int, run func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	for range callers {
		go func() {
			for left.Add(-1) >= 0 {
				run()
			}
			done <- struct{}{}
		}()
	}
	for range callers {
		<-done
	}
}

func benchCharges(budgets int, user int64) []ratelimit.Charge {
	id := strconv.FormatInt(user, 10)
	charges := make([]ratelimit.Charge, budgets)
	for i, name := range []string{"user", "org", "tasks.write", "tasks.parse", "tasks.parse.burst"}[:budgets] {
		charges[i] = ratelimit.Charge{
			Key:   ratelimit.Key{Budget: name, Group: id, ID: id},
			Limit: ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Second},
			Cost:  1,
		}
	}
	return charges
}

// redisCPU is the processor time that Redis has used.
func redisCPU(b *testing.B, s *Store) time.Duration {
	info, err := s.client.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	var total float64
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			total += seconds
		}
	}
	return time.Duration(total * float64(time.Second))
}

// ownCPU is the processor time that this process has used.
func ownCPU(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
