package mobileclient

import (
	"context"
	"slices"
	"time"

	"example.com/gatehouse/internal/slidinglog"
)

// A waiter is a request that wants its slots. All requests pass the queue, so that none overtakes another that
// waits for the same budget; most leave it at once.
type waiter struct {
	call    call
	cred    *credential
	person  *person
	windows []*window
	// until is when the request would rather be refused.
	until time.Duration
	// ready is closed once there is a ticket or a refusal.
	ready   chan struct{}
	ticket  *ticket
	refusal *Error
}

// acquire takes the slots of one request, or of none and says why. It waits for the first answer to a new identity, and
// for budgets as long as the mirror's patience and the context's deadline allow.
func (m *mirror) acquire(ctx context.Context, call call, cred *credential) (*ticket, error) {
	w := m.enter(ctx, call, cred)
	select {
	case <-w.ready:
		return w.result()
	default:
	}
	select {
	case <-w.ready:
		return w.result()
	case <-ctx.Done():
		m.withdraw(w)
		return nil, context.Cause(ctx)
	}
}

func (w *waiter) result() (*ticket, error) {
	if w.refusal != nil {
		return nil, w.refusal
	}
	return w.ticket, nil
}

func (m *mirror) enter(ctx context.Context, call call, cred *credential) *waiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &waiter{call: call, cred: cred, ready: make(chan struct{}), until: m.now() + patienceOf(ctx, max(m.patience, call.patience))}
	w.windows = m.windowsOf(call, cred)
	w.person = m.person(identityOf(cred))
	m.queue = append(m.queue, w)
	m.serve()
	return w
}

// patienceOf is how long to wait at most, with the context's deadline in mind.
func patienceOf(ctx context.Context, most time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return most
	}
	return min(most, max(0, time.Until(deadline)))
}

// withdraw takes a request out that no longer wants its slots, also if it just got them.
func (m *mirror) withdraw(w *waiter) {
	m.mu.Lock()
	defer m.release()
	m.queue = slices.DeleteFunc(m.queue, func(other *waiter) bool { return other == w })
	if w.ticket != nil {
		w.ticket.giveBack()
	}
}

// release unlocks the mirror after a change that may let others pass.
func (m *mirror) release() {
	if len(m.queue) > 0 {
		m.serve()
	}
	m.mu.Unlock()
}

// never is a time that does not come.
const never = 1<<63 - 1

// serve lets pass, in their order, those whom all of their budgets let pass, and refuses those who would have to wait too
// long. A budget that makes one wait makes all wait who come after and need it, for each needs one unit.
func (m *mirror) serve() {
	now, next := m.now(), time.Duration(never)
	ahead := map[*window]int64{}
	m.queue = slices.DeleteFunc(m.queue, func(w *waiter) bool {
		at := m.tend(w, now, ahead)
		next = min(next, at)
		return w.ticket != nil || w.refusal != nil
	})
	m.wake(now, next)
}

// tend decides one waiter, or says when to look again.
func (m *mirror) tend(w *waiter, now time.Duration, ahead map[*window]int64) (at time.Duration) {
	if w.call.settings.skipRateLimit {
		m.admit(w, now)
		return never
	}
	if p := w.person; w.cred != nil && !p.met && p.greeting != nil && now < p.greetBy {
		return p.greetBy
	}
	s := standingOf(now, w.windows)
	if s.Allowed {
		m.admit(w, now)
		return never
	}
	if wait := w.wait(now, ahead); wait == slidinglog.Never || now+wait > w.until || now >= w.until {
		w.refusal = refusedLocally(w.call.endpoint, wait, s.Budgets)
		close(w.ready)
		return never
	}
	return min(now+s.RetryAfter, w.until)
}

// wait is the least that the waiter must wait, with those ahead of it in mind, and makes it one of them.
func (w *waiter) wait(now time.Duration, ahead map[*window]int64) time.Duration {
	var wait time.Duration
	for _, win := range w.windows {
		v := win.look(now)
		if v.ok {
			continue
		}
		wait = longer(wait, v.wait)
		if before := ahead[win]; before > 0 && before < win.limit {
			wait = longer(wait, win.counted(now, 1+before).wait)
		}
		ahead[win]++
	}
	return wait
}

func (m *mirror) admit(w *waiter, now time.Duration) {
	m.tickets++
	t := &ticket{m: m, seq: m.tickets, call: w.call, cred: w.cred, person: w.person, windows: w.windows}
	t.hold(now)
	if w.cred != nil && !w.person.met && w.person.greeting == nil {
		w.person.greeting, w.person.greetBy = t, now+patienceWithGreeting
	}
	w.ticket = t
	close(w.ready)
}

// wake sees to it that the queue is served again at the time next.
func (m *mirror) wake(now, next time.Duration) {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	if next == never || len(m.queue) == 0 {
		return
	}
	m.timer = time.AfterFunc(next-now, func() {
		m.mu.Lock()
		defer m.release()
	})
}
