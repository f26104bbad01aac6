package memory

// A log keeps a stamp for each unit, the oldest first: the first in the slot's word a, and from the second on all of
// them in a ring too. A call that finds that nothing has left, as most do, then need not look at the ring's beginning,
// and a refusal not at the ring. A stamp is the time of its charge in microseconds, 49 bits (17 years), and a sequence, 14 bits, that
// makes it unique in its shard: it names the charge on its receipt.

const (
	sequenceBits = 14
	// unnamed is the sequence of units that cannot be given back: those of a charge of which some were, and those
	// that come when an instant has no names left.
	unnamed = 1<<sequenceBits - 1
)

func stampTime(stamp int64) int64 { return stamp >> sequenceBits }

// stamp names a charge made now.
func (sh *shard) stamp() int64 {
	if sh.stamped != sh.now {
		sh.stamped, sh.sequence = sh.now, 0
	}
	if sh.sequence < unnamed {
		sh.sequence++ // The first is 1, so that no stamp is 0.
	}
	return sh.now<<sequenceBits | sh.sequence
}

func (sh *shard) logUsage(s *slot, window int64) int64 {
	q := sh.queue(s)
	n := q.len()
	if n == 0 || stampTime(s.a)+window > sh.now {
		return int64(n)
	}
	gone := 1
	for gone < n && stampTime(*q.at(gone))+window <= sh.now {
		gone++
	}
	q.pop(gone)
	q.front()
	return int64(n - gone)
}

func (sh *shard) logRecord(s *slot, window, units int64) (stamp int64) {
	stamp = sh.stamp()
	q := sh.queue(s)
	if q.len() == 0 {
		s.a = stamp
	}
	q.push(stamp, int(units))
	sh.keep(s, sh.now+window)
	if stamp&unnamed == unnamed {
		return 0
	}
	return stamp
}

func (sh *shard) logUntil(s *slot, window, n int64) int64 {
	stamp := s.a
	if n > 1 {
		stamp = *sh.queue(s).at(int(n - 1))
	}
	return stampTime(stamp) + window - sh.now
}

// logGiveBack drops units with the stamp, and takes the name of the rest.
func (sh *shard) logGiveBack(s *slot, stamp, units int64) (given int64) {
	q := sh.queue(s)
	for i := q.len() - 1; i >= 0 && stampTime(*q.at(i)) >= stampTime(stamp); i-- {
		switch w := q.at(i); {
		case *w != stamp:
		case given < units:
			q.cut(i)
			given++
		default:
			*w |= unnamed
		}
	}
	q.front()
	return given
}
