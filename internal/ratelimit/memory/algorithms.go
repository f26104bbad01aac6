package memory

import (
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// The kinds of slots are the algorithms; what each keeps in its slot is said in the file of its name.
const (
	kindLog      = kind(ratelimit.SlidingLog)
	kindSegments = kind(ratelimit.Segments)
	kindBucket   = kind(ratelimit.TokenBucket)
	kindFixed    = kind(ratelimit.FixedWindow)
)

func window(l *ratelimit.Limit) int64 { return int64(l.Window / time.Microsecond) }

// usage is how many units count at the shard's time, after dropping those that have left. A slot that another
// algorithm made is made anew: their histories cannot be compared.
func (sh *shard) usage(s *slot, l *ratelimit.Limit) int64 {
	if s.kind != kind(l.Algorithm) {
		sh.become(s, kind(l.Algorithm))
	}
	switch s.kind {
	case kindLog:
		return sh.logUsage(s, window(l))
	case kindSegments:
		return sh.segmentUsage(s, window(l))
	case kindBucket:
		return sh.bucketUsage(s, l.Refill)
	default:
		return sh.fixedUsage(s, window(l))
	}
}

func (sh *shard) become(s *slot, k kind) {
	if s.size > 0 {
		sh.queue(s).freeRing()
	}
	*s = slot{hash: s.hash, expires: s.expires, kind: k}
}

// record counts units that fit, and names them for giving back.
func (sh *shard) record(s *slot, l *ratelimit.Limit, units int64) int64 {
	if s.kind != kind(l.Algorithm) {
		sh.become(s, kind(l.Algorithm))
	}
	switch s.kind {
	case kindLog:
		return sh.logRecord(s, window(l), units)
	case kindSegments:
		return sh.segmentRecord(s, window(l), units)
	case kindBucket:
		return sh.bucketRecord(s, l.Refill, units)
	default:
		return sh.fixedRecord(s, window(l), units)
	}
}

// until is the time in microseconds until n of the units that usage counted have left, 1 ≤ n ≤ usage.
func (sh *shard) until(s *slot, l *ratelimit.Limit, n int64) int64 {
	switch s.kind {
	case kindLog:
		return sh.logUntil(s, window(l), n)
	case kindSegments:
		return sh.segmentUntil(s, window(l), n)
	case kindBucket:
		return sh.bucketUntil(s, l.Refill, n)
	default:
		return sh.fixedUntil(s, window(l))
	}
}

// giveBack takes units of the receipt's cost out, and says how many; usage was asked before.
func (sh *shard) giveBack(s *slot, l *ratelimit.Limit, id, cost, units int64) int64 {
	switch s.kind {
	case kindLog:
		return sh.logGiveBack(s, id, units)
	case kindSegments:
		return sh.segmentGiveBack(s, id, units)
	case kindBucket:
		return sh.bucketGiveBack(s, l.Refill, id, cost, units)
	default:
		return sh.fixedGiveBack(s, id, units)
	}
}

// weight is about how many units the slot counts, for choosing what to evict.
func (sh *shard) weight(s *slot) int64 {
	switch s.kind {
	case kindLog:
		return int64(sh.queue(s).len())
	case kindBucket:
		return s.a / microUnits
	default:
		return s.a
	}
}
