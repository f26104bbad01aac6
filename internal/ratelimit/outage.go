package ratelimit

import (
	"sync"
	"time"
)

// faultEvery is how often a budget may report stored values of a wrong shape: each look at one is a fault.
const faultEvery = time.Minute

// outages are what is known of the failures of one budget's store. They outlive a change of the budget's numbers, so that
// an outage is reported once.
type outages struct {
	hooks Hooks

	mu        sync.Mutex
	outage    Outage // Decisions is 0 while there is none.
	faultedAt time.Time
}

// note counts a decision of the budget's mode; the first of an outage is reported.
func (o *outages) note(b *Budget, now time.Time, err error) {
	o.mu.Lock()
	first := o.outage.Decisions == 0
	if first {
		o.outage = Outage{Budget: b, Err: err, Began: now}
	}
	o.outage.Decisions++
	began := o.outage
	o.mu.Unlock()
	if first && o.hooks.OutageBegan != nil {
		o.hooks.OutageBegan(began)
	}
}

func (o *outages) end(why Ending) {
	o.mu.Lock()
	ended := o.outage
	ended.Ended = why
	o.outage = Outage{}
	o.mu.Unlock()
	if ended.Decisions > 0 && o.hooks.OutageEnded != nil {
		o.hooks.OutageEnded(ended)
	}
}

// noteFault reports a stored value that the store cannot read, unless one was reported a moment ago.
func (o *outages) noteFault(b *Budget, now time.Time, key Key, err error) {
	o.mu.Lock()
	quiet := !o.faultedAt.IsZero() && now.Sub(o.faultedAt) < faultEvery
	if !quiet {
		o.faultedAt = now
	}
	o.mu.Unlock()
	if !quiet && o.hooks.KeyFault != nil {
		o.hooks.KeyFault(b, key, err)
	}
}
