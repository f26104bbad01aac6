package allowance_test

import (
	"testing"

	"example.com/gatehouse/internal/ratelimit"
)

// BenchmarkResolve is what each budget of each request costs: three subjects that are held, and nothing set for them.
func BenchmarkResolve(b *testing.B) {
	book, budget, subject := newDatabase().book(), user(), alice()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if got := book.Resolve(b.Context(), budget, subject); got.Source != ratelimit.SourceTable {
				b.Errorf("the source is %s", got.Source)
			}
		}
	})
}
