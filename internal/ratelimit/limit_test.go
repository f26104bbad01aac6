package ratelimit_test

import (
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

func TestLimitInWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit ratelimit.Limit
		span  time.Duration
		bound string
	}{
		{perMinute(100), time.Minute, "never over 100 in any 1m; a unit leaves at exactly 1m"},
		{
			ratelimit.Limit{Algorithm: ratelimit.Segments, N: 20_000, Window: 24 * time.Hour},
			24*time.Hour + 24*time.Minute,
			"never over 20000 in any 24h; a unit leaves late by less than 24m",
		},
		{
			ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 10, Refill: 3},
			3_333_334 * time.Microsecond,
			"at most 10 and 3 a second in any span; exact to the microsecond",
		},
		{
			ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: 3, Window: 5 * time.Minute},
			5 * time.Minute,
			"at most 3 in the 5m from the first; up to 6 around its end",
		},
		{ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: ratelimit.MaxLimit, Refill: 100_000}, 10_000_000 * time.Second, "at most 1000000000000 and 100000 a second in any span; exact to the microsecond"},
	}
	for _, tt := range tests {
		if err := tt.limit.Check(); err != nil {
			t.Errorf("%+v: %v", tt.limit, err)
		}
		if got := tt.limit.Span(); got != tt.span {
			t.Errorf("%+v: span %v, want %v", tt.limit, got, tt.span)
		}
		if got := tt.limit.Bound(); got != tt.bound {
			t.Errorf("%+v: %q, want %q", tt.limit, got, tt.bound)
		}
	}
}
