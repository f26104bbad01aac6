package ratelimit

import "time"

// Hooks are how the limiter reports; every one may be nil. They run on the request's goroutine and must not block.
type Hooks struct {
	// Budget is called once a budget at New, and again at each Reload, and binds the counters of its decisions, so that
	// counting needs no look-up.
	Budget func(*Budget) BudgetHooks
	// Store is called once a store at New and binds what watches it.
	Store func(name string) StoreHooks
	// OutageBegan is called once a budget and outage, when the budget's mode first decides.
	OutageBegan func(Outage)
	// OutageEnded is called when the store has answered again, or what ends the outage before it has, with the count of what
	// the mode decided.
	OutageEnded func(Outage)
	// KeyFault reports a key whose stored value the store cannot read, which Reset heals; at most once a minute and budget.
	KeyFault func(*Budget, Key, error)
}

// BudgetHooks count one budget's decisions; nil ones count nothing.
type BudgetHooks struct {
	// Allowed and Denied count what this budget's own verdict was, where it is enforced and was counted.
	Allowed, Denied func()
	// WouldDeny counts refusals of a shadow.
	WouldDeny func()
	// FailedOpen, CountedLocally and FailedClosed count what the mode decided while the store could not say.
	FailedOpen, CountedLocally, FailedClosed func()
	// GivenBack counts units given back.
	GivenBack func(units int64)
}

// StoreHooks watch one store that can fail; nil ones watch nothing.
type StoreHooks struct {
	// Asked is told of each call that was sent: how long it took and what went wrong, if anything.
	Asked func(took time.Duration, err error)
	// Breaker is told when the breaker opens and closes.
	Breaker func(open bool)
}

// An Outage is a time in which a budget's store could not say.
type Outage struct {
	Budget *Budget
	// Err is the first failure.
	Err   error
	Began time.Time
	// Decisions is how many the budget's mode decided so far.
	Decisions int64
	// Ended says why it is over, once it is.
	Ended Ending
}

// An Ending is why an outage is over.
type Ending int

// The endings. After the last two the store may fail yet.
const (
	EndedByAnswer Ending = iota // the store has answered again
	EndedByClose                // the limiter was closed
	EndedByChange               // Reload gave the budget another store or mode; a failure from now on begins another outage
)

func count(f func()) {
	if f != nil {
		f()
	}
}
