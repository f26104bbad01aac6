// Package ratelimit decides whether a request may spend its budgets: charges in, one decision out.
//
// A Store counts; a Limiter wraps stores with what happens around counting (failure modes, breaker, give-back).
// The package knows no HTTP.
package ratelimit

import (
	"context"
	"time"
)

// An Algorithm is how a budget counts.
type Algorithm uint8

const (
	// SlidingLog keeps the time of every admitted unit: at most N units in any span of Window, exactly. N is at most MaxLog.
	SlidingLog Algorithm = iota + 1
	// Segments is the sliding window for large N: 60 segments, never over N in any Window, late by less than Window/60.
	Segments
	// TokenBucket holds at most N units and gains Refill of them a second: at most N + Refill × span in any span.
	TokenBucket
	// FixedWindow admits N units in the Window that begins with its first hit: up to 2 × N around a boundary.
	FixedWindow
)

// MaxLog is the largest limit of a SlidingLog: the log of one key holds that many times.
const MaxLog = 1024

// A Limit is what one key may spend.
type Limit struct {
	Algorithm Algorithm
	// N is the units a window, or a bucket's capacity. 0 denies everything; below 0 is an error.
	N int64
	// Window is the span that N applies to. A TokenBucket has none: it is full again after N ÷ Refill.
	Window time.Duration
	// Refill is the units a second that a TokenBucket gains.
	Refill int64
}

// A Key names one counter.
type Key struct {
	// Budget is the budget's name, as in the table.
	Budget string
	// Group is what the keys of one decision share, so that a store that spreads keys can keep them together
	// (the organisation, or the caller where there is none).
	Group string
	// ID says whose counter it is: any bytes, any length. Stores hash it; none keeps it in the clear beyond its process.
	ID string
}

// A Charge asks for Cost units of one key.
type Charge struct {
	Key   Key
	Limit Limit
	// Cost is the units asked for. 0 only looks, below 0 is an error, more than Limit.N never fits.
	Cost int64
	// Shadow charges are counted and judged but never refuse: they are recorded when the enforced ones of the call fit.
	Shadow bool
}

// Never is the Retry of a charge that no wait makes fit, because its cost is above its limit.
const Never time.Duration = -1

// A Verdict is what a store says of one charge.
type Verdict struct {
	// OK says that the charge fits. Whether it was recorded depends on the others of its call.
	OK bool
	// Remaining is what is left after the call, in units, 0 ≤ Remaining ≤ N.
	Remaining int64
	// Next is the time until Remaining grows; 0 when nothing is spent.
	Next time.Duration
	// Retry is, for a charge that does not fit, the time until it would if nothing else was charged meanwhile, or Never.
	Retry time.Duration
	// Receipt names the entries that this charge made, for GiveBack; its zero value means none.
	Receipt Receipt
	// Err is a fault of this key's stored value alone; the other verdicts of the call hold. The budget's mode decides.
	Err error
}

// A Receipt names the very entries that one recorded charge made in its store. It works once.
type Receipt struct {
	// ID is the store's own name for the entries; 0 means none.
	ID uint64
	// Cost is the units recorded.
	Cost int64
}

// A Store counts. Take decides all charges at once: either every enforced charge fits and all are recorded, or
// none is. A charge of cost 0 only looks. The verdicts are one a charge, in order.
//
// An error means that the store could not say; the charges may then have been counted or not, and are never sent again.
type Store interface {
	Take(ctx context.Context, charges []Charge) ([]Verdict, error)
	Reset(ctx context.Context, keys ...Key) error
}
