package memory

// microUnits is how many parts of a unit a bucket counts in: a refill of R units a second is exactly R parts a
// microsecond, so that nothing is ever rounded.
const microUnits = 1_000_000

// A bucket keeps what is spent and not yet refilled, in parts of a unit, in the slot's word a, as of the time in b. It is
// the debt that is kept, not the level, so a changed capacity keeps the history.

// bucketUsage brings the debt up to the shard's time and says how many units it takes, begun ones whole.
func (sh *shard) bucketUsage(s *slot, refill int64) int64 {
	debt, age := s.a, sh.now-s.b
	whole := ceilDiv(debt, refill) // The age at which nothing is owed; the product below cannot overflow before.
	if age >= whole {
		s.a, s.b = 0, sh.now
		return 0
	}
	sh.keep(s, s.b+whole) // The refill may have been lowered.
	s.a, s.b = debt-age*refill, sh.now
	return ceilDiv(s.a, microUnits)
}

func (sh *shard) bucketRecord(s *slot, refill, units int64) int64 {
	if s.a == 0 {
		s.b = sh.now
	}
	s.a += units * microUnits
	sh.keep(s, sh.now+ceilDiv(s.a, refill))
	return sh.now + 1
}

// bucketUntil is the time until n units are refilled of those that bucketUsage counted.
func (sh *shard) bucketUntil(s *slot, refill, n int64) int64 {
	debt := s.a
	left := (ceilDiv(debt, microUnits) - n) * microUnits
	return ceilDiv(debt-left, refill)
}

// bucketGiveBack gives back no more than what time has not refilled of the charge, whose kept part is refilled first.
// More could be over the limit: of a bucket that has been full since then, the charge has already been forgiven.
func (sh *shard) bucketGiveBack(s *slot, refill, id, cost, units int64) int64 {
	age := sh.now - (id - 1)
	if age < 0 || age >= ceilDiv(cost*microUnits, refill) {
		return 0
	}
	units = min(units, (cost*microUnits-age*refill)/microUnits, s.a/microUnits)
	s.a -= units * microUnits
	return units
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
