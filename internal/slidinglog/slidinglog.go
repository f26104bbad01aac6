// Package slidinglog is the exact sliding window: at most N units in any span of W, counted from a log of times.
//
// A unit taken at t counts in (t, t+W) and leaves at exactly t+W, so (t−W, t] never holds more than N admitted units,
// whatever t is. Nothing is estimated: what remains, when more will, and how long a refused cost must wait are read
// off the log. A refused call leaves no trace.
//
// Units come in two kinds. A server knows the instant at which a unit counts and calls Take. A client that mirrors a
// server's budget does not: its request counts whenever it arrives, so the client calls Hold when it acquires the slot
// and Start when the answer is in; between the two the unit is held, with no time to leave at. That bracket is what
// makes the mirror sound: whatever the network does, the client's unit outlives the server's.
//
// The limit belongs to the call, not to the log, so a changed limit keeps the history: with 60 units in the log, a
// limit of 100 lowered to 50 leaves none and raised to 200 leaves 140.
//
// A Log is not safe for concurrent use: its user locks, and reads the clock under that lock, because a Log takes a
// time before the last one it saw for a clock that was set back. Time then stands still for the log until the clock
// runs on from there: nothing is forgiven, and nothing stays a moment longer than W after the call that saw the step.
package slidinglog

import (
	"math"
	"time"
)

// Never is the Retry of a cost above the limit: no wait makes it fit.
const Never time.Duration = -1

// A Log counts the units of one key.
type Log struct {
	window time.Duration
	clock  clock

	// started are the entries that have a time, the oldest first; held are the others, in no order.
	started []entry
	held    []entry
	used    int64  // The units of both.
	tickets Ticket // The last one given.
}

// An entry is what one call recorded.
type entry struct {
	ticket Ticket
	units  int64
	at     time.Duration // When the window of these units begins; they leave W later.
}

// A Ticket names the entry that one call made; 0 names none. A log never gives the same one twice.
type Ticket uint64

// An Answer is what a log says to one call.
type Answer struct {
	// OK says that the cost fits. A cost of 0 always does.
	OK bool
	// Remaining is what is left after the call, never below 0.
	Remaining int64
	// Next is the time until Remaining grows; 0 when nothing is spent, and when the limit is 0. A held unit counts as
	// if it started now, so where those are in the way Next and Retry are the least that the wait can be.
	Next time.Duration
	// Retry is the time until a cost that does not fit would, or Never; 0 for one that fits.
	Retry time.Duration
}

// New makes a log of units that count for window, which must be above 0.
func New(window time.Duration) *Log {
	if window <= 0 {
		panic("slidinglog: the window must be above 0")
	}
	return &Log{window: window}
}

// Look answers what Take would for the same arguments, and records nothing.
func (l *Log) Look(now time.Duration, limit, cost int64) Answer {
	now = l.advance(now)
	return l.answer(now, limit, cost)
}

// Take records cost units at now if they fit within limit. Times are on any one clock that runs at a steady rate; limit
// and cost must not be negative. The ticket is 0 if nothing was recorded: the cost was 0, or did not fit.
func (l *Log) Take(now time.Duration, limit, cost int64) (Answer, Ticket) {
	now = l.advance(now)
	if a := l.answer(now, limit, cost); !a.OK || cost == 0 {
		return a, 0
	}
	e := l.record(cost, now)
	l.started = insert(l.started, e)
	return l.answer(now, limit, 0), e.ticket
}

// Hold records cost units that count from now on and have no time to leave at until Start gives them one.
func (l *Log) Hold(now time.Duration, limit, cost int64) (Answer, Ticket) {
	now = l.advance(now)
	if a := l.answer(now, limit, cost); !a.OK || cost == 0 {
		return a, 0
	}
	e := l.record(cost, now)
	l.held = append(l.held, e)
	return l.answer(now, limit, 0), e.ticket
}

// Overdraw holds cost units whether they fit or not: for a request that leaves regardless, and still counts.
func (l *Log) Overdraw(now time.Duration, cost int64) Ticket {
	now = l.advance(now)
	if cost = min(cost, math.MaxInt64-l.used); cost <= 0 {
		return 0
	}
	e := l.record(cost, now)
	l.held = append(l.held, e)
	return e.ticket
}

// Start begins the window of a held entry at the time that at says: its units leave W later. A time after now keeps
// them longer, for a request whose late arrival must be reckoned with. It is false if the ticket names no held entry.
func (l *Log) Start(now time.Duration, t Ticket, at time.Duration) bool {
	ahead := at - now
	now = l.advance(now)
	i := find(l.held, t)
	if i < 0 {
		return false
	}
	e := l.held[i]
	e.at = now + ahead
	l.held = remove(l.held, i)
	l.started = insert(l.started, e)
	return true
}

// GiveBack takes units out of the entry that the ticket names, and says how many: those that were asked for, as far as
// the entry has them and they have not left. A started entry gives back once: what it keeps can be given back no more.
func (l *Log) GiveBack(now time.Duration, t Ticket, units int64) int64 {
	l.advance(now)
	if t == 0 || units <= 0 {
		return 0
	}
	if i := find(l.held, t); i >= 0 {
		return l.take(&l.held, i, units)
	}
	if i := find(l.started, t); i >= 0 {
		l.started[i].ticket = 0
		return l.take(&l.started, i, units)
	}
	return 0
}

// Used is how many units count at now.
func (l *Log) Used(now time.Duration) int64 {
	l.advance(now)
	return l.used
}

// Held is how many of them have no time to leave at yet.
func (l *Log) Held() int64 {
	var units int64
	for i := range l.held {
		units += l.held[i].units
	}
	return units
}

// advance drops what has left by now, and returns now as the log's own time, which never runs backwards.
func (l *Log) advance(now time.Duration) time.Duration {
	now = l.clock.read(now)
	gone := 0
	for gone < len(l.started) && l.started[gone].at+l.window <= now {
		l.used -= l.started[gone].units
		gone++
	}
	l.started = discard(l.started, gone)
	return now
}

func (l *Log) answer(now time.Duration, limit, cost int64) Answer {
	if limit < 0 || cost < 0 {
		panic("slidinglog: limit and cost must not be negative")
	}
	a := Answer{OK: cost == 0 || cost <= limit-l.used, Remaining: max(0, limit-l.used)}
	if l.used > 0 && limit > 0 {
		a.Next = l.until(now, min(l.used, limit)-1)
	}
	switch {
	case a.OK:
	case cost > limit:
		a.Retry = Never
	default:
		a.Retry = l.until(now, limit-cost)
	}
	return a
}

// until is the time until no more than left units count, with 0 ≤ left < used, if the held units started now.
func (l *Log) until(now time.Duration, left int64) time.Duration {
	surplus, held := l.used-left, l.Held()
	for i := range l.started {
		e := &l.started[i]
		if e.at > now { // The held ones leave before it.
			if surplus -= held; surplus <= 0 {
				return l.window
			}
			held = 0
		}
		if surplus -= e.units; surplus <= 0 {
			return e.at + l.window - now
		}
	}
	return l.window
}

// record counts units and makes their entry.
func (l *Log) record(units int64, at time.Duration) entry {
	l.tickets++
	l.used += units
	return entry{ticket: l.tickets, units: units, at: at}
}

// take takes units out of one entry, and removes the entry with its last unit.
func (l *Log) take(from *[]entry, i int, units int64) int64 {
	e := &(*from)[i]
	units = min(units, e.units)
	e.units -= units
	l.used -= units
	if e.units == 0 {
		*from = remove(*from, i)
	}
	return units
}
