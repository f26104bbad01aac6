package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// BenchmarkTake measures decisions of one and three budgets by a lone caller and by many at once, over a thousand users
// and on one spent key, against a PostgreSQL on this machine that does not wait for its disk.
func BenchmarkTake(b *testing.B) {
	db := storetest.Open(b, store.Config{URL: storetest.URL(b), MaxConns: 8})
	for _, budgets := range []int{1, 3} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("budgets=%d/callers=%d", budgets, callers), func(b *testing.B) {
				benchTake(b, newStore(b, db), callers, func(call int64) []ratelimit.Charge {
					return benchCharges(budgets, strconv.FormatInt(call%1000, 10), sliding(30, time.Second))
				})
			})
		}
	}
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("denied/callers=%d", callers), func(b *testing.B) {
			benchTake(b, newStore(b, db), callers, func(int64) []ratelimit.Charge { return benchCharges(1, "spent", sliding(10, time.Hour)) })
		})
	}
}

func benchTake(b *testing.B, s *Store, callers int, charges func(call int64) []ratelimit.Charge) {
	b.Helper()
	var calls atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for call := calls.Add(1); call <= int64(b.N); call = calls.Add(1) {
				if _, err := s.Take(context.Background(), charges(call)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

func benchCharges(budgets int, id string, limit ratelimit.Limit) []ratelimit.Charge {
	charges := make([]ratelimit.Charge, budgets)
	for i := range charges {
		charges[i] = charge(id, limit, 1)
		charges[i].Key.Budget = "budget" + strconv.Itoa(i)
	}
	return charges
}
