package ratelimit

import (
	"errors"
	"time"
)

// An Outcome is what becomes of a request.
type Outcome uint8

const (
	// Allowed means that every enforced charge fits, or its budget is failing open.
	Allowed Outcome = iota + 1
	// Denied means that an enforced charge does not fit; none of the decision was spent.
	Denied
	// Unavailable means that a closed budget's store cannot say.
	Unavailable
)

// String names the outcome as metrics label it.
func (o Outcome) String() string {
	switch o {
	case Allowed:
		return "allowed"
	case Denied:
		return "denied"
	case Unavailable:
		return "unavailable"
	}
	return "undecided"
}

// ErrAsk is wrapped by Decision.Err: the caller's fault, such as an unknown budget or a negative cost.
var ErrAsk = errors.New("invalid ask")

// A Decision is the answer to the asks of one call.
type Decision struct {
	Outcome Outcome
	// Results are one an ask, in the same order; none if Err is set.
	Results []Result
	// Repeated says that this process repeats a refusal of a moment ago without asking the store. Results are then those
	// of the refusing budgets alone, in the order of their asks.
	Repeated bool
	// Err is a fault of the asks themselves, wrapping ErrAsk; the Outcome is then Unavailable and nothing was charged.
	Err error
}

// A Result is what one budget says.
type Result struct {
	Budget *Budget
	// Limit is the one that applied, which an override may have changed.
	Limit   Limit
	Verdict Verdict
	// Enforced is false for a shadow: it never refuses and shows in no header.
	Enforced bool
	// Unlimited says that nothing is counted and Limit means nothing.
	Unlimited bool
	// Counted says that a counter gave the verdict; false while the budget fails open or closed, and if unlimited.
	Counted bool
	// Degraded says that the budget's store could not say and its mode decided.
	Degraded bool
	// Source says where Limit came from: table, file, plan, organisation or user.
	Source string
	// Store names the store that counted, LocalStore while an outage is counted in this process.
	Store string

	key    Key
	cost   int64
	row    *row
	guard  *guard // The store that holds the receipt.
	settle uint32 // Set by the first give-back.
}

// LocalStore is Result.Store while an outage is counted in this process.
const LocalStore = "local"

// Refused says that this budget refuses the request.
func (r *Result) Refused() bool { return r.Enforced && !r.Verdict.OK }

// WouldDeny says that this shadow budget would refuse the request.
func (r *Result) WouldDeny() bool { return !r.Enforced && !r.Verdict.OK }

// RetryAfter is the time after which the request would be admitted if nothing else was charged meanwhile: the
// longest of the refusing budgets. It is false when the decision is no denial, or when no wait makes the request fit.
func (d *Decision) RetryAfter() (time.Duration, bool) {
	if d.Outcome != Denied {
		return 0, false
	}
	var wait time.Duration
	for i := range d.Results {
		r := &d.Results[i]
		if !r.Refused() {
			continue
		}
		if r.Verdict.Retry == Never {
			return 0, false
		}
		wait = max(wait, r.Verdict.Retry)
	}
	return wait, true
}

// Result is what the named budget says, or nil where the decision does not hold it.
func (d *Decision) Result(budget string) *Result {
	for i := range d.Results {
		if d.Results[i].Budget.Name == budget {
			return &d.Results[i]
		}
	}
	return nil
}
