// Package ratelimit decides whether a request may spend its budgets: charges in, one decision out.
//
// A Store counts; a Limiter wraps stores with what happens around counting (failure modes, breaker, give-back).
// The package knows no HTTP.
package ratelimit

import (
	"context"
	"time"
)

// A Key names one counter. All three parts are its identity: keys that differ in any of them are counted apart.
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
	// Shadow charges are judged but never refuse: one is recorded when it fits and the enforced ones of the call fit.
	Shadow bool
}

// Never is the Retry of a charge that no wait makes fit, because its cost is above its limit.
const Never time.Duration = -1

// A Verdict is what a store says of one charge.
type Verdict struct {
	// OK says that the charge fits; a look always does. Whether it was recorded depends on the others of its call.
	OK bool
	// Remaining is what is left after the call, in units, 0 ≤ Remaining ≤ N.
	Remaining int64
	// Next is the time until Remaining grows; 0 when nothing is spent, and when N is 0.
	Next time.Duration
	// Retry is, for a charge that does not fit, the time until it would if nothing else was charged meanwhile, or
	// Never. It is 0 for a charge that fits.
	Retry time.Duration
	// Receipt names the entries that this charge made, for GiveBack; its zero value means that none were recorded.
	Receipt Receipt
	// Err is a fault of this key's stored value alone; the other verdicts of the call hold, and its charge was not
	// recorded. The budget's mode decides.
	Err error
}

// A Receipt names the very entries that one recorded charge made in its store. It works once.
type Receipt struct {
	// ID is the store's own name for the entries, unique for its key; 0 means none.
	ID uint64
	// Cost is the units recorded.
	Cost int64
}

// A Store counts. Take decides all charges at once: either every enforced charge fits and all are recorded, or
// none is. A charge of cost 0 only looks. The verdicts are one a charge, in order.
//
// A charge that CheckCharges faults is an error, and nothing is counted. Any other error means that the store could
// not say; the charges may then have been counted or not, and are never sent again.
type Store interface {
	Take(ctx context.Context, charges []Charge) ([]Verdict, error)
	Reset(ctx context.Context, keys ...Key) error
}

// A Return asks to give back Units of what one charge recorded.
type Return struct {
	Key     Key
	Limit   Limit
	Receipt Receipt
	// Units is at least 1; above Receipt.Cost it counts as Receipt.Cost.
	Units int64
}

// A Returner is a Store that can give back. GiveBack answers the units given back, one a return, in order: 0 where
// nothing of that receipt is left to give, because it was given back before or its window has passed.
//
// A log forgets the receipt with the entries, also when only some of its units were given back, so a second try
// finds nothing. A counter (Segments, TokenBucket, FixedWindow) cannot tell one unit from another: its receipt says
// only when the charge was made, and the Limiter sends each receipt once. A TokenBucket gives back no more
// than what time has not refilled of the charge, Cost − Refill × age in whole units, because that could be over the limit. A FixedWindow whose units
// were all given back begins anew with the next hit.
//
// After an error the charges are not given back, as far as anyone knows; the receipts are not sent again.
type Returner interface {
	GiveBack(ctx context.Context, returns []Return) ([]int64, error)
}

// An InProcess store never waits and cannot fail: the Limiter asks it without deadline or breaker, and reuses dst.
type InProcess interface {
	AppendTake(dst []Verdict, charges []Charge) ([]Verdict, error)
}

// A Selective store does not have every algorithm. A store without this method is taken to have all.
type Selective interface {
	Supports(a Algorithm) bool
}
