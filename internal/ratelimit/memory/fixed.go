package memory

// A fixed window keeps its units in the slot's word a and the time of its first hit in b; the receipt is that time.

func (sh *shard) fixedUsage(s *slot, window int64) int64 {
	if s.b+window <= sh.now {
		s.a = 0
	}
	return s.a
}

func (sh *shard) fixedRecord(s *slot, window, units int64) int64 {
	if s.a == 0 {
		s.b = sh.now
	}
	s.a += units
	sh.keep(s, s.b+window)
	return s.b + 1
}

func (sh *shard) fixedUntil(s *slot, window int64) int64 { return s.b + window - sh.now }

func (sh *shard) fixedGiveBack(s *slot, id, units int64) int64 {
	if s.b != id-1 {
		return 0
	}
	units = min(units, s.a)
	s.a -= units
	return units
}
