package memory

import (
	"context"
	"math"

	"example.com/gatehouse/internal/ratelimit"
)

// GiveBack takes back what the receipts name; see ratelimit.Returner. It never fails.
func (s *Store) GiveBack(_ context.Context, returns []ratelimit.Return) ([]int64, error) {
	given := make([]int64, len(returns))
	for i := range returns {
		given[i] = s.giveBack(&returns[i])
	}
	return given, nil
}

func (s *Store) giveBack(r *ratelimit.Return) int64 {
	units := min(r.Units, r.Receipt.Cost)
	if r.Receipt.ID == 0 || r.Receipt.ID > math.MaxInt64 || units <= 0 || r.Limit.Check() != nil {
		return 0
	}
	h := s.hasher.hash(&r.Key)
	sh := s.shard(h)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.advance(s.micros())
	at := sh.table.find(h)
	if at < 0 {
		return 0
	}
	slot := &sh.table.slots[at]
	sh.usage(slot, &r.Limit)
	given := sh.giveBack(slot, &r.Limit, int64(r.Receipt.ID), r.Receipt.Cost, units)
	if given > 0 {
		slot.refused = false
	}
	return given
}
