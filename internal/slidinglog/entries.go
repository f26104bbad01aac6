package slidinglog

import (
	"slices"
	"time"
)

// find is the index of the entry with the ticket, or −1. Tickets are looked for soon after they were given, so it
// searches from the newest.
func find(entries []entry, t Ticket) int {
	for i, e := range slices.Backward(entries) {
		if e.ticket == t {
			return i
		}
	}
	return -1
}

// insert keeps the entries in order of their times; nearly always the new one is the last.
func insert(entries []entry, e entry) []entry {
	i := len(entries)
	for i > 0 && entries[i-1].at > e.at {
		i--
	}
	return slices.Insert(entries, i, e)
}

func remove(entries []entry, i int) []entry {
	return slices.Delete(entries, i, i+1)
}

// discard drops the first n entries and keeps the memory of the slice.
func discard(entries []entry, n int) []entry {
	if n == 0 {
		return entries
	}
	return slices.Delete(entries, 0, n)
}

// A clock turns readings of a clock that may be set back into times that never run backwards.
type clock struct {
	last time.Duration // The latest time given out.
	skew time.Duration // What the clock was set back by, in all.
}

func (c *clock) read(now time.Duration) time.Duration {
	now += c.skew
	if now < c.last {
		c.skew += c.last - now
		now = c.last
	}
	c.last = now
	return now
}
