package ratelimit

import (
	"sync"
	"time"
)

// faultEvery is how often a budget may report stored values of a wrong shape: each look at one is a fault.
const faultEvery = time.Minute

// A row is a budget with what the limiter keeps for it.
type row struct {
	budget  Budget
	guard   *guard
	hooks   BudgetHooks
	outages Hooks

	mu        sync.Mutex
	outage    Outage // Decisions is 0 while there is none.
	faultedAt time.Time
}

// noteOutage counts a decision of the budget's mode; the first of an outage is reported.
func (r *row) noteOutage(now time.Time, err error) {
	r.guard.failed(now)
	r.mu.Lock()
	first := r.outage.Decisions == 0
	if first {
		r.outage = Outage{Budget: &r.budget, Err: err, Began: now}
	}
	r.outage.Decisions++
	began := r.outage
	r.mu.Unlock()
	if first && r.outages.OutageBegan != nil {
		r.outages.OutageBegan(began)
	}
}

func (r *row) endOutage() {
	r.mu.Lock()
	ended := r.outage
	r.outage = Outage{}
	r.mu.Unlock()
	if ended.Decisions > 0 && r.outages.OutageEnded != nil {
		r.outages.OutageEnded(ended)
	}
}

// noteFault reports a stored value that the store cannot read, unless one was reported a moment ago.
func (r *row) noteFault(now time.Time, err error) {
	r.mu.Lock()
	quiet := !r.faultedAt.IsZero() && now.Sub(r.faultedAt) < faultEvery
	if !quiet {
		r.faultedAt = now
	}
	r.mu.Unlock()
	if !quiet && r.outages.KeyFault != nil {
		r.outages.KeyFault(&r.budget, err)
	}
}
