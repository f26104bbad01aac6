package mobileclient

import (
	"math"
	"time"

	"example.com/gatehouse/internal/slidinglog"
)

// A window is one budget of one person, as far as this client knows it.
type window struct {
	allowance

	budget string
	jitter func(time.Duration) time.Duration
	log    *slidinglog.Log // nil where the budget is only learned of.
	// acquired is how many slots were ever taken; flying, how many of them are without an answer.
	acquired, flying int64
	lesson           lesson
}

// A view is what a window says to one more request.
type view struct {
	ok        bool
	wait      time.Duration // Of a refusal: the least that it takes, or slidinglog.Never.
	remaining int64
}

// look says whether one more unit may be taken now.
func (w *window) look(now time.Duration) view {
	own, learned := w.counted(now, 1), w.taught(now)
	return view{
		ok:        own.ok && learned.ok,
		wait:      longer(own.wait, learned.wait),
		remaining: min(own.remaining, learned.remaining),
	}
}

// counted says whether this client's own units leave room for cost more.
func (w *window) counted(now time.Duration, cost int64) view {
	if w.log == nil {
		return view{ok: true, remaining: math.MaxInt64}
	}
	a := w.log.Look(now, w.lesson.lowered(w.allowance), cost)
	return view{ok: a.OK, wait: a.Retry, remaining: a.Remaining}
}

// unlogged is the ticket of a slot that no log counts.
const unlogged slidinglog.Ticket = 1

// hold takes a unit, whether it fits or not.
func (w *window) hold(now time.Duration) slidinglog.Ticket {
	w.acquired++
	w.flying++
	if w.log == nil {
		return unlogged
	}
	return w.log.Overdraw(now, 1)
}

// start begins the window of a unit at the time at. It is not held any more: *t becomes 0, which is no unit.
func (w *window) start(now time.Duration, t *slidinglog.Ticket, at time.Duration) {
	if w.land(t) && w.log != nil {
		w.log.Start(now, *t, at)
	}
	*t = 0
}

func (w *window) giveBack(now time.Duration, t *slidinglog.Ticket) {
	if w.land(t) && w.log != nil {
		w.log.GiveBack(now, *t, 1)
	}
	*t = 0
}

func (w *window) land(t *slidinglog.Ticket) bool {
	if *t == 0 {
		return false
	}
	w.flying--
	return true
}

// used is how many of this client's own units may count at the server.
func (w *window) used(now time.Duration) int64 {
	if w.log == nil {
		return 0
	}
	return w.log.Used(now)
}

// empty says that forgetting the window would change nothing.
func (w *window) empty(now time.Duration) bool {
	return w.used(now) == 0 && w.flying == 0 && w.lesson.over(now) && w.lesson.probe == nil
}

// longer is the longer of two waits. None is as long as the one that never ends.
func longer(a, b time.Duration) time.Duration {
	if a == slidinglog.Never || b == slidinglog.Never {
		return slidinglog.Never
	}
	return max(a, b)
}
