package ratelimit_test

import (
	"context"
	"testing"

	"example.com/gatehouse/internal/ratelimit"
)

// BenchmarkDecide measures one decision counted in memory, with metrics bound: what a request pays at the edge.
func BenchmarkDecide(b *testing.B) {
	tests := []struct {
		name string
		asks []ratelimit.Ask
	}{
		{"allowed", []ratelimit.Ask{ask("edge", 0)}},
		{"denied", []ratelimit.Ask{ask("edge", 1)}},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			l := setup(b, func(c *ratelimit.Config) { c.Hooks = ratelimit.Hooks{} })
			l.Decide(context.Background(), ask("edge", 100))
			var d ratelimit.Decision
			b.ReportAllocs()
			for b.Loop() {
				l.DecideInto(context.Background(), &d, tt.asks...)
			}
		})
	}
}
