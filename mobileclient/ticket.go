package mobileclient

import (
	"context"
	"net/http"
	"slices"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/slidinglog"
)

// A ticket holds the slots of one request from before it leaves until its answer, and then until the server must have
// stopped counting it. Every way that a request can end settles it: what settles first counts, the rest does nothing.
//
// Why it is sound: of the requests that the server counts in some window of length W, let m be the one that took its
// slot last. Any other, i, took its own no later, so it arrived after that and was answered later still. When m took its
// slot, i had either no answer yet or one that is less than W old, since both count in the same window: so i still held its
// slot. All the others held theirs, and m was let pass only because they were fewer than the limit.
type ticket struct {
	m       *mirror
	seq     uint64
	call    call
	cred    *credential
	person  *person
	windows []*window
	marks   []mark // What the windows held before it.
	// arrivals has a row for each time that the request may have reached the server: a slot of each window.
	arrivals [][]slidinglog.Ticket

	departed  bool // The transport has it.
	asked     bool // A connection was asked for.
	connected bool // One was got, so something may have been sent.
	written   int  // How often the whole header was written.
}

// hold takes the slots of one arrival, whether they fit or not: that is decided before. The caller has the lock.
func (t *ticket) hold(now time.Duration) {
	row := make([]slidinglog.Ticket, len(t.windows))
	first := t.marks == nil
	for i, w := range t.windows {
		if first {
			t.marks = append(t.marks, w.mark(now))
		}
		if w.probes(now) {
			w.lesson.probe = t
		}
		row[i] = w.hold(now)
	}
	t.arrivals = append(t.arrivals, row)
}

// depart hands the ticket to the transport. A redirect comes with the same ticket once more, and is a request of its own.
func (t *ticket) depart(ctx context.Context) (*ticket, error) {
	t.m.mu.Lock()
	first := !t.departed
	t.departed = true
	t.m.mu.Unlock()
	if first {
		return t, nil
	}
	return t.m.acquire(ctx, t.call, t.cred)
}

// abandon gives back what never came to the transport.
func (t *ticket) abandon() {
	t.m.mu.Lock()
	defer t.m.release()
	if !t.departed {
		t.giveBack()
	}
}

// noteAsked, noteConnected and noteWritten follow one request through net/http, which may send it several times.
func (t *ticket) noteAsked() {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.asked = true
}

// noteConnected takes another slot if what was written so far used up those there are: the request is about to be
// sent again. It must not wait for the header to be written, because that may be seen after the server got it.
func (t *ticket) noteConnected() {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.connected = true
	t.cover(t.written + 1)
}

func (t *ticket) noteWritten() {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.connected = true
	t.written++
	t.cover(t.written)
}

func (t *ticket) cover(arrivals int) {
	if len(t.arrivals) > 0 && len(t.arrivals) < arrivals {
		t.hold(t.m.now())
	}
}

// answered begins the windows of a request whose answer has come. What was sent before a replay got none, and may still
// arrive.
func (t *ticket) answered(resp *http.Response) {
	t.m.mu.Lock()
	defer t.m.release()
	if len(t.arrivals) == 0 {
		return
	}
	now, last := t.m.now(), len(t.arrivals)-1
	t.learn(now, resp)
	t.refund(t.arrivals[last], t.judge(resp))
	t.start(t.arrivals[:last], t.m.grace)
	t.start(t.arrivals[last:], 0)
	t.arrivals = nil
	t.person.met = true
	t.leaveProbes()
}

// failed settles a request without an answer. traced says that the transport is known to report connections; of
// another that reported nothing at all it must be assumed that it sent the request.
func (t *ticket) failed(traced bool) {
	t.m.mu.Lock()
	defer t.m.release()
	if !t.connected && (t.asked || traced) {
		t.giveBack()
	}
	t.start(t.arrivals, t.m.grace)
	t.arrivals = nil
	t.leaveProbes()
}

// leaveProbes lets another request find out what this one was sent for and did not, and greet where this one did not.
func (t *ticket) leaveProbes() {
	if t.person.greeting == t {
		t.person.greeting = nil
	}
	for _, w := range t.windows {
		if w.lesson.probe == t {
			w.lesson.probe = nil
		}
	}
}

// start begins windows, and lets them begin later by the grace for an arrival that may be still to come.
func (t *ticket) start(arrivals [][]slidinglog.Ticket, grace time.Duration) {
	now := t.m.now()
	for _, row := range arrivals {
		for i, w := range t.windows {
			w.start(now, &row[i], now+grace)
		}
	}
}

func (t *ticket) giveBack() {
	for _, row := range t.arrivals {
		t.refund(row, func(string) bool { return true })
	}
	t.arrivals = nil
	t.leaveProbes()
}

// refund gives back one arrival's slots of the budgets that were not charged for it.
func (t *ticket) refund(row []slidinglog.Ticket, unspent func(budget string) bool) {
	now := t.m.now()
	for i, w := range t.windows {
		if unspent(w.budget) {
			w.giveBack(now, &row[i])
		}
	}
}

// judge learns from an answer whether the server knows the credential, and says which budgets it shows to be unspent.
func (t *ticket) judge(resp *http.Response) (unspent func(budget string) bool) {
	switch {
	case t.cred == nil:
		return func(string) bool { return false }
	case resp.StatusCode == http.StatusUnauthorized:
		t.rejected()
		return func(budget string) bool { return slices.Contains(t.call.charges, budget) }
	case authenticated(resp):
		t.cred.accepted = true
		replayed := t.call.settings.key != "" && resp.StatusCode/100 == 2 && resp.Header.Get(api.HeaderIdempotencyReplayed) != ""
		return func(budget string) bool {
			return budget == api.BudgetEdge || replayed && slices.Contains(t.call.charges, budget)
		}
	}
	return func(string) bool { return false }
}

// rejected makes the credential a stranger's again, and counts what the address may have been charged for a request that
// left as a known caller's.
func (t *ticket) rejected() {
	t.cred.accepted = false
	edge := t.m.window(t.m.person(""), windowKey{budget: api.BudgetEdge})
	if edge == nil || slices.Contains(t.windows, edge) {
		return
	}
	now := t.m.now()
	slot := edge.hold(now)
	edge.start(now, &slot, now)
}

// authenticated says that the server got past authentication: it succeeded, or decided a budget that lies behind.
func authenticated(resp *http.Response) bool {
	if resp.StatusCode/100 == 2 {
		return true
	}
	return slices.ContainsFunc(api.ParseQuotas(resp.Header).Services, func(s api.Service) bool { return s.Name == api.BudgetUser })
}

type ticketKey struct{}

func withTicket(ctx context.Context, t *ticket) context.Context {
	return context.WithValue(ctx, ticketKey{}, t)
}

func ticketOf(ctx context.Context) *ticket {
	t, _ := ctx.Value(ticketKey{}).(*ticket)
	return t
}
