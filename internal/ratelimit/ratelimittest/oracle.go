package ratelimittest

import (
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/slidinglog"
)

// A belief is what an oracle holds a store's answer against. An exact oracle's bounds coincide.
type belief struct {
	mustFit, mayFit bool
	// least and most bound Remaining.
	least, most int64
	// exact says that next and retry are to be met; else only their promises are, which the sequences try out.
	exact       bool
	next, retry time.Duration
}

// An oracle follows one key. Units are recorded as the store admits them, so that it judges each answer by itself.
type oracle interface {
	believe(now time.Duration, l ratelimit.Limit, cost int64) belief
	record(now time.Duration, l ratelimit.Limit, units int64) (ticket int64)
	// giveBack takes out what the store gave back, and bounds it.
	giveBack(now time.Duration, l ratelimit.Limit, ticket, units, given int64) (least, most int64)
}

func newOracle(l ratelimit.Limit, early func() time.Duration, late time.Duration) oracle {
	switch l.Algorithm {
	case ratelimit.SlidingLog:
		return &logOracle{log: slidinglog.New(l.Window)}
	case ratelimit.Segments:
		return &segmentOracle{exact: slidinglog.New(l.Window), late: slidinglog.New(l.Span())}
	case ratelimit.TokenBucket:
		return &bucketOracle{early: early, late: late}
	default:
		return &fixedOracle{}
	}
}

// A logOracle is exact.
type logOracle struct {
	log     *slidinglog.Log
	tickets []slidinglog.Ticket
}

func (o *logOracle) believe(now time.Duration, l ratelimit.Limit, cost int64) belief {
	a := o.log.Look(now, l.N, cost)
	return belief{
		mustFit: a.OK, mayFit: a.OK, least: a.Remaining, most: a.Remaining,
		exact: true, next: a.Next, retry: a.Retry,
	}
}

func (o *logOracle) record(now time.Duration, _ ratelimit.Limit, units int64) int64 {
	_, ticket := o.log.Take(now, 1<<62, units)
	o.tickets = append(o.tickets, ticket)
	return int64(len(o.tickets) - 1)
}

func (o *logOracle) giveBack(now time.Duration, _ ratelimit.Limit, ticket, units, _ int64) (least, most int64) {
	given := o.log.GiveBack(now, o.tickets[ticket], units)
	return given, given
}

// A segmentOracle lies between the exact log, which the store must never exceed, and the log of a window that is a
// segment longer, which it must never fall behind.
type segmentOracle struct {
	exact, late *slidinglog.Log
	tickets     [][2]slidinglog.Ticket
}

func (o *segmentOracle) believe(now time.Duration, l ratelimit.Limit, cost int64) belief {
	exact, late := o.exact.Look(now, l.N, cost), o.late.Look(now, l.N, cost)
	return belief{mustFit: late.OK, mayFit: exact.OK, least: late.Remaining, most: exact.Remaining}
}

func (o *segmentOracle) record(now time.Duration, _ ratelimit.Limit, units int64) int64 {
	_, exact := o.exact.Take(now, 1<<62, units)
	_, late := o.late.Take(now, 1<<62, units)
	o.tickets = append(o.tickets, [2]slidinglog.Ticket{exact, late})
	return int64(len(o.tickets) - 1)
}

func (o *segmentOracle) giveBack(now time.Duration, _ ratelimit.Limit, ticket, units, _ int64) (least, most int64) {
	t := o.tickets[ticket]
	return o.exact.GiveBack(now, t[0], units), o.late.GiveBack(now, t[1], units)
}

// A bucketOracle keeps the debt in millionths of a unit, so that its refill is exact. early and late are how far the
// store's time may lie from it.
type bucketOracle struct {
	debt    int64
	at      time.Duration
	early   func() time.Duration
	late    time.Duration
	charges []bucketCharge
}

type bucketCharge struct {
	at   time.Duration
	cost int64
}

func (o *bucketOracle) advance(now time.Duration, l ratelimit.Limit) {
	o.debt = max(0, o.debt-refilled(l, now-o.at))
	o.at = now
}

// refilled is what the bucket gains in d, in millionths.
func refilled(l ratelimit.Limit, d time.Duration) int64 { return l.Refill * d.Microseconds() }

const million = 1_000_000

func (o *bucketOracle) believe(now time.Duration, l ratelimit.Limit, cost int64) belief {
	o.advance(now, l)
	room := l.N*million - o.debt
	least, most := room, room
	if o.debt > 0 {
		least, most = room-refilled(l, o.late), min(l.N*million, room+refilled(l, o.early()))
	}
	return belief{
		mustFit: cost == 0 || cost <= l.N && cost*million <= least,
		mayFit:  cost == 0 || cost <= l.N && cost*million <= most,
		least:   max(0, least) / million, most: max(0, most) / million,
	}
}

func (o *bucketOracle) record(now time.Duration, l ratelimit.Limit, units int64) int64 {
	o.advance(now, l)
	o.debt += units * million
	o.charges = append(o.charges, bucketCharge{now, units})
	return int64(len(o.charges) - 1)
}

func (o *bucketOracle) giveBack(now time.Duration, l ratelimit.Limit, ticket, units, given int64) (least, most int64) {
	o.advance(now, l)
	c := o.charges[ticket]
	most = min(units, max(0, c.cost*million-refilled(l, now-c.at))/million)
	slack := 2 + (refilled(l, o.early())+refilled(l, o.late))/million
	least = max(0, min(most, o.debt/million)-slack)
	o.debt = max(0, o.debt-given*million)
	return least, most
}

// A fixedOracle is exact: the window begins with its first hit, and anew once all its units were given back.
type fixedOracle struct {
	start time.Duration
	used  int64
}

func (o *fixedOracle) advance(now time.Duration, l ratelimit.Limit) {
	if now >= o.start+l.Window {
		o.used = 0
	}
}

func (o *fixedOracle) believe(now time.Duration, l ratelimit.Limit, cost int64) belief {
	o.advance(now, l)
	fits := cost == 0 || cost <= l.N-o.used
	b := belief{mustFit: fits, mayFit: fits, exact: true}
	b.least = max(0, l.N-o.used)
	b.most = b.least
	ends := o.start + l.Window - now
	if o.used > 0 && l.N > 0 {
		b.next = ends
	}
	if !fits {
		b.retry = ends
	}
	if cost > l.N && !fits {
		b.retry = ratelimit.Never
	}
	return b
}

func (o *fixedOracle) record(now time.Duration, l ratelimit.Limit, units int64) int64 {
	o.advance(now, l)
	if o.used == 0 {
		o.start = now
	}
	o.used += units
	return int64(o.start)
}

func (o *fixedOracle) giveBack(now time.Duration, l ratelimit.Limit, ticket, units, _ int64) (least, most int64) {
	o.advance(now, l)
	if time.Duration(ticket) != o.start {
		return 0, 0
	}
	given := min(units, o.used)
	o.used -= given
	return given, given
}
