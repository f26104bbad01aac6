package memory

// A fixed window keeps its units in the slot's word a and the time of its first hit in b; the receipt is that time.

func (sh *shard) fixedUsage(s *slot, window int64) int64 {
	if int64(s.b)+window <= sh.now {
		s.a = 0
	}
	return int64(s.a)
}

func (sh *shard) fixedRecord(s *slot, window, units int64) uint64 {
	if s.a == 0 {
		s.b = uint64(sh.now)
	}
	s.a += uint64(units)
	sh.keep(s, int64(s.b)+window)
	return s.b + 1
}

func (sh *shard) fixedUntil(s *slot, window int64) int64 { return int64(s.b) + window - sh.now }

func (sh *shard) fixedGiveBack(s *slot, id uint64, units int64) int64 {
	if s.b != id-1 {
		return 0
	}
	units = min(units, int64(s.a))
	s.a -= uint64(units)
	return units
}
