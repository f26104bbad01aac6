package memory

import "example.com/gatehouse/internal/ratelimit"

// Segments keep a pair of words for each segment of W/60 that has units: the segment's number since the shard's time
// began, and its units. The sum is in the slot's word a. A segment's units leave together, when the last instant of the
// segment has: never before their own time, and later by less than a segment.

func segmentLength(window int64) int64 { return window / ratelimit.SegmentCount }

// segmentLeaves is when the units of a segment leave.
func segmentLeaves(segment, window int64) int64 {
	return (segment+1)*segmentLength(window) - 1 + window
}

func (sh *shard) segmentUsage(s *slot, window int64) int64 {
	q := sh.queue(s)
	for q.len() > 0 && segmentLeaves(*q.at(0), window) <= sh.now {
		s.a -= *q.at(1)
		q.pop(2)
	}
	return s.a
}

func (sh *shard) segmentRecord(s *slot, window, units int64) int64 {
	q, segment := sh.queue(s), sh.now/segmentLength(window)
	s.a += units
	sh.keep(s, segmentLeaves(segment, window))
	if n := q.len(); n > 0 && *q.at(n - 2) == segment {
		*q.at(n - 1) += units
		return segment + 1
	}
	q.pushPair(segment, units)
	return segment + 1
}

func (sh *shard) segmentUntil(s *slot, window, n int64) int64 {
	q := sh.queue(s)
	for i := 0; ; i += 2 {
		if n -= *q.at(i + 1); n <= 0 {
			return segmentLeaves(*q.at(i), window) - sh.now
		}
	}
}

func (sh *shard) segmentGiveBack(s *slot, id, units int64) int64 {
	q := sh.queue(s)
	for i := q.len() - 2; i >= 0; i -= 2 {
		if *q.at(i) != id-1 {
			continue
		}
		held := q.at(i + 1)
		units = min(units, *held)
		*held -= units
		s.a -= units
		if *held == 0 {
			q.cut(i)
			q.cut(i)
		}
		return units
	}
	return 0
}
