package memory

import (
	"errors"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// ErrFull is the verdict's Err for a new key that finds no place, because every key held was refused within its window.
var ErrFull = errors.New("the memory store is full of refused keys: raise its cap")

// judge finds the key and says whether the charge fits.
func (l *located) judge(c *ratelimit.Charge) bool {
	l.slot, l.used = l.shard.table.find(l.hash), 0
	if l.slot >= 0 {
		l.used = l.shard.usage(&l.shard.table.slots[l.slot], &c.Limit)
	}
	return fits(c, l.used)
}

// fits says whether the charge fits on top of used units; a look always does.
func fits(c *ratelimit.Charge, used int64) bool {
	return c.Cost == 0 || c.Cost <= c.Limit.N-used
}

// settle records the charge if told so, and fills in its verdict. keep are the hashes of the call.
func (l *located) settle(c *ratelimit.Charge, v *ratelimit.Verdict, fits, record bool, keep []located) {
	v.OK = fits
	if record && c.Cost > 0 {
		if l.slot < 0 {
			l.slot = l.shard.place(l.hash, keep)
		}
		if l.slot < 0 {
			v.OK, v.Err = false, ErrFull
			return
		}
		v.Receipt = ratelimit.Receipt{ID: uint64(l.record(c)), Cost: c.Cost} //nolint:gosec // Times are not negative.
	}
	v.Remaining = max(0, c.Limit.N-l.used)
	if l.slot >= 0 {
		l.wait(c, v)
	}
	if !fits && c.Cost > c.Limit.N {
		v.Retry = ratelimit.Never
	}
}

func (l *located) record(c *ratelimit.Charge) int64 {
	s := &l.shard.table.slots[l.slot]
	s.refused = false
	l.used += c.Cost
	return l.shard.record(s, &c.Limit, c.Cost)
}

// wait tells how long until the verdict changes, and marks the key as refused if it is.
func (l *located) wait(c *ratelimit.Charge, v *ratelimit.Verdict) {
	sh, n := l.shard, c.Limit.N
	s := &sh.table.slots[l.slot]
	next, retry := l.used-min(l.used, n)+1, l.used+c.Cost-n // How many units must leave.
	if l.used > 0 && n > 0 {
		v.Next = micros(sh.until(s, &c.Limit, next))
	}
	if v.OK {
		return
	}
	s.refused = true
	switch {
	case c.Cost > n:
	case retry == next:
		v.Retry = v.Next
	default:
		v.Retry = micros(sh.until(s, &c.Limit, retry))
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
