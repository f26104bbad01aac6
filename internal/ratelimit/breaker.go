package ratelimit

import (
	"sync"
	"time"
)

const (
	// breakerTrips is how many calls in a row must fail to open a breaker: one lost packet is no outage.
	breakerTrips = 3
	// probeEvery is how long an open breaker waits between probes, and so the longest that budgets stay unapplied
	// after a store is back.
	probeEvery = 500 * time.Millisecond
)

// A breaker keeps calls from a store that fails. Once open it lets one call at a time through as a probe, which must
// be one that writes: a store that only reads counts nothing.
type breaker struct {
	mu       sync.Mutex
	failures int
	open     bool
	probing  bool
	probeAt  time.Time
}

// A pass is the permission for one call.
type pass uint8

const (
	refused pass = iota
	normal
	probe
)

// enter says whether a call may go out; its end must be reported to leave.
func (b *breaker) enter(now time.Time, writes bool) pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		return normal
	}
	if !writes || b.probing || now.Before(b.probeAt) {
		return refused
	}
	b.probing = true
	return probe
}

// leave reports a call's end, and says whether that opened or closed the breaker. A call that only looked proves
// nothing by its success. Stragglers from before the opening change nothing either.
func (b *breaker) leave(p pass, now time.Time, writes, ok bool) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p == probe {
		b.probing = false
		b.probeAt = now.Add(probeEvery)
	}
	switch {
	case ok && writes && (!b.open || p == probe):
		changed, b.open, b.failures = b.open, false, 0
	case !ok && !b.open:
		if b.failures++; b.failures >= breakerTrips {
			changed, b.open, b.probeAt = true, true, now.Add(probeEvery)
		}
	}
	return changed
}
