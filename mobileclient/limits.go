package mobileclient

import (
	"context"
	"time"

	"example.com/gatehouse/api"
)

// FetchLimits asks the server what the caller may still spend of each budget. It spends none of them but the edge. What
// this client itself knows, without asking, [Client.Limits] says.
//
// The mirror learns from the answer: limits below its own, and what others have spent; limits above its own if the
// client was made [WithServerLimits].
func (c *Client) FetchLimits(ctx context.Context, opts ...CallOption) (api.Limits, error) {
	before := c.mirror.snapshot(c.tokens.held())
	limits, err := fetch[api.Limits](ctx, c, c.newCall(api.RouteLimitsGet, opts))
	if err != nil {
		return limits, err
	}
	c.mirror.adopt(before, c.tokens.held(), limits)
	return limits, nil
}

// WithServerLimits lets [Client.FetchLimits] raise the mirror's limits to the server's for the caller, not only lower
// them: after an upgrade of the plan for instance.
func WithServerLimits() Option { return func(s *settings) { s.mirror.raise = true } }

// A snapshot is the state of a person's windows before the server was asked about them. Without a credential there was
// nothing in them yet.
type snapshot struct {
	cred  *credential
	seq   uint64
	marks map[windowKey]mark
}

func (m *mirror) snapshot(cred *credential) snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := snapshot{cred: cred, seq: m.tickets, marks: map[windowKey]mark{}}
	if cred == nil {
		return s
	}
	now := m.now()
	for key, w := range m.person(cred.identity).windows {
		s.marks[key] = w.mark(now)
	}
	return s
}

// adopt takes in the server's numbers for a person. Without a credential they are the address's, and are none of a person.
func (m *mirror) adopt(before snapshot, cred *credential, limits api.Limits) {
	if cred == nil || limits.Caller.Kind != "user" {
		return
	}
	m.mu.Lock()
	defer m.release()
	now, p := m.now(), m.person(cred.identity)
	for _, status := range limits.Budgets {
		key := windowKey{budget: status.Name}
		w := m.window(p, key)
		if w == nil || status.Per == api.PerAddress {
			continue
		}
		if m.raise {
			w.raise(status)
		}
		if (before.cred == cred || before.cred == nil) && before.seq >= w.lesson.from {
			w.adopt(now, status, before.marks[key], before.seq)
		}
	}
}

// unlimited is a limit that nobody reaches.
const unlimited = 1 << 40

// raise takes over a larger limit; one that is not enforced is none. That of a longer window than the mirror counts in says
// too little.
func (w *window) raise(status api.LimitStatus) {
	limit := int64(unlimited)
	if status.Limit != nil && status.Enforced {
		limit = *status.Limit
	}
	if time.Duration(status.WindowSeconds)*time.Second <= w.window {
		w.limit = max(w.limit, limit/w.share)
	}
}

// adopt learns what the server says. A budget that refuses nothing has nothing to teach.
func (w *window) adopt(now time.Duration, status api.LimitStatus, m mark, seq uint64) {
	switch {
	case status.Limit == nil || !status.Enforced:
		w.lesson = lesson{from: seq, probe: w.lesson.probe}
		return
	case status.Remaining == nil || status.WindowSeconds <= 0:
		return
	}
	l := lesson{from: seq, quota: *status.Limit, quotaWindow: time.Duration(status.WindowSeconds) * time.Second, probe: w.lesson.probe}
	reset := time.Duration(status.ResetMS) * time.Millisecond
	l.take(now, w, api.Service{Name: status.Name, Remaining: *status.Remaining, Reset: reset}, m, 0)
	w.lesson = l
}
