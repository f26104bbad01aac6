package mobileclient

import (
	"math"
	"net/http"
	"slices"
	"time"

	"example.com/gatehouse/api"
)

// A lesson is what the answers of the server taught of one budget, beyond what this client counts itself. It only ever
// holds back, and where this client is the only user of the budget there is nothing in it: what others spent is what
// the server counts more than this client can have sent.
type lesson struct {
	// from is the ticket whose answer taught it: answers overtake each other, and what was sent last counts.
	from uint64
	// quota and quotaWindow are the server's limit, from the policy; a window of 0 means that none is known.
	quota       int64
	quotaWindow time.Duration
	// scarce says that no more than left units can be taken beyond the acquired ones up to mark.
	scarce bool
	left   int64
	mark   int64
	// refused says that the server refused a request for this budget.
	refused bool
	// until is when the server has more: from then on one request may try, the probe, and its answer is the next lesson.
	until time.Duration
	probe *ticket
	// ends is when what was left is no longer true, whatever it was.
	ends time.Duration
}

const (
	// longestBlock is how long a lesson may hold anything back without another look at the server.
	longestBlock = time.Minute
	// probeWait is what is said to those who wait for a probe's answer.
	probeWait = time.Second
	// unsaidWait is how long a refusal without Retry-After is heeded.
	unsaidWait = time.Second
)

// over says that there is no lesson.
func (l *lesson) over(now time.Duration) bool { return !l.refused && (!l.scarce || now >= l.ends) }

// lowered is the limit after the server's policy: never above the limit itself. The quota of a longer window is shared
// out among the shorter ones that the longer one holds; one request is always let pass, to learn.
func (l *lesson) lowered(a allowance) int64 {
	if l.quotaWindow <= 0 {
		return a.limit
	}
	parts := max(1, int64((l.quotaWindow+a.window-1)/a.window)) * a.share
	return min(a.limit, max(l.quota/parts, 1))
}

// taught says whether the lessons let one more request pass.
func (w *window) taught(now time.Duration) view {
	l := &w.lesson
	if l.over(now) {
		return view{ok: true, remaining: math.MaxInt64}
	}
	room := int64(0)
	if !l.refused {
		room = max(0, l.left-(w.acquired-l.mark))
	}
	switch {
	case room > 0:
		return view{ok: true, remaining: room}
	case l.probe != nil:
		return view{wait: max(l.until-now, probeWait)}
	case now < l.until:
		return view{wait: l.until - now}
	}
	return view{ok: true, remaining: 1}
}

// probes says whether a request that is let pass now is the one that finds out.
func (w *window) probes(now time.Duration) bool {
	l := &w.lesson
	return !l.over(now) && l.probe == nil && now >= l.until && (l.refused || w.acquired-l.mark >= l.left)
}

// learn takes in what an answer says of the budgets of its request.
func (t *ticket) learn(now time.Duration, resp *http.Response) {
	quotas := api.ParseQuotas(resp.Header)
	for i, w := range t.windows {
		if t.seq <= w.lesson.from {
			continue
		}
		l := lesson{from: t.seq, quota: w.lesson.quota, quotaWindow: w.lesson.quotaWindow, probe: w.lesson.probe}
		if p, ok := policyOf(quotas, w.budget); ok && p.Window > 0 {
			l.quota, l.quotaWindow = p.Quota, p.Window
		}
		if s, ok := serviceOf(quotas, w.budget); ok {
			l.take(now, w, s, t.marks[i], 1)
		}
		w.lesson = l
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		t.refusedFor(now, resp.Header, quotas)
	}
}

// A mark is the state of a window when a ticket was taken, itself not counted.
type mark struct{ used, acquired, flying int64 }

func (w *window) mark(now time.Duration) mark {
	return mark{used: w.used(now), acquired: w.acquired, flying: w.flying}
}

// take notes how much is left. Of what the server counts, no more can be this client's own than what was held when the
// request left and what was taken since; where that explains it all there is nothing to learn. What was on its way
// when the request left may have come after it, and is then not in the answer. The request itself took own units.
func (l *lesson) take(now time.Duration, w *window, s api.Service, m mark, own int64) {
	quota := w.limit * w.share
	if l.quotaWindow > 0 {
		quota = l.quota
	}
	if w.log != nil && quota-s.Remaining <= m.used+w.acquired-m.acquired {
		return
	}
	l.scarce, l.left, l.mark = true, s.Remaining, m.acquired+own-m.flying
	l.ends = now + longestBlock
	l.until = now + min(s.Reset, longestBlock)
	if s.Reset > 0 {
		l.until += w.jitter(s.Reset)
	}
}

// refusedFor blocks the budgets that a 429 is about: those that have nothing left; else the metered ones, which refuse
// with less left than the request may use; else, if it says nothing of either, all of the request's.
func (t *ticket) refusedFor(now time.Duration, h http.Header, quotas api.Quotas) {
	wait, ok := retryAfter(h)
	if !ok {
		wait = unsaidWait
	}
	wait = min(wait, longestBlock)
	for _, w := range t.refusing(quotas) {
		until := wait
		if s, ok := serviceOf(quotas, w.budget); ok && s.HasReset && s.Remaining == 0 {
			until = min(until, s.Reset)
		}
		w.lesson.block(now+until+w.jitter(until), t.m.tickets)
	}
}

func (t *ticket) refusing(quotas api.Quotas) []*window {
	spent := t.windowsThat(func(w *window) bool {
		s, ok := serviceOf(quotas, w.budget)
		return ok && s.Remaining == 0
	})
	if len(spent) > 0 {
		return spent
	}
	metered := t.windowsThat(func(w *window) bool {
		_, ok := serviceOf(quotas, w.budget)
		return ok && w.metered
	})
	if len(metered) > 0 {
		return metered
	}
	return t.windows
}

func (t *ticket) windowsThat(are func(*window) bool) []*window {
	var those []*window
	for _, w := range t.windows {
		if are(w) {
			those = append(those, w)
		}
	}
	return those
}

// block holds back until a time, and until the answer to a request that left after this one: what is on its way already
// cannot tell that the block is over.
func (l *lesson) block(until time.Duration, last uint64) {
	if l.refused {
		until = max(until, l.until)
	}
	l.from, l.refused, l.until = last, true, until
}

func policyOf(q api.Quotas, budget string) (api.Policy, bool) {
	i := slices.IndexFunc(q.Policies, func(p api.Policy) bool { return p.Name == budget })
	if i < 0 {
		return api.Policy{}, false
	}
	return q.Policies[i], true
}

func serviceOf(q api.Quotas, budget string) (api.Service, bool) {
	i := slices.IndexFunc(q.Services, func(s api.Service) bool { return s.Name == budget })
	if i < 0 {
		return api.Service{}, false
	}
	return q.Services[i], true
}
