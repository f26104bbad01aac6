package memory

import (
	"math/bits"

	"example.com/gatehouse/internal/ratelimit"
)

// A located charge is one whose key has been hashed, and perhaps found.
type located struct {
	hash  uint64
	shard *shard
	slot  int // The index of its slot, or −1. Good until a slot is placed or dropped.
	used  int64
}

// usualCharges is how many charges a call may have without allocating.
const usualCharges = 8

// AppendTake is Take that appends to dst.
func (s *Store) AppendTake(dst []ratelimit.Verdict, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	if err := ratelimit.CheckCharges(charges); err != nil {
		return dst, err
	}
	if len(charges) == 1 {
		return s.takeOne(dst, &charges[0]), nil
	}
	return s.takeAll(dst, charges), nil
}

// takeOne is takeAll for the one charge of most calls.
func (s *Store) takeOne(dst []ratelimit.Verdict, c *ratelimit.Charge) []ratelimit.Verdict {
	h := s.hasher.hash(&c.Key)
	l := located{hash: h, shard: s.shard(h)}
	micros := s.micros()
	l.shard.mu.Lock()
	l.shard.advance(micros)
	fits := l.judge(c)
	dst = append(dst, ratelimit.Verdict{})
	l.settle(c, &dst[len(dst)-1], fits, fits, nil)
	l.shard.mu.Unlock()
	if fits {
		s.janitor.arm()
	}
	return dst
}

// takeAll judges all charges while it holds the locks of all their shards, then records all or none.
func (s *Store) takeAll(dst []ratelimit.Verdict, charges []ratelimit.Charge) []ratelimit.Verdict {
	var usual [usualCharges]located
	found := usual[:0]
	var shards uint64
	for i := range charges {
		h := s.hasher.hash(&charges[i].Key)
		found = append(found, located{hash: h, shard: s.shard(h)})
		shards |= 1 << s.shardIndex(h)
	}
	micros := s.micros()
	s.lock(shards, micros)
	fit := true
	for i := range charges {
		if c := &charges[i]; !found[i].judge(c) && !c.Shadow {
			fit = false
		}
	}
	for i := range charges {
		c := &charges[i]
		ok := fits(c, found[i].used)
		found[i].slot = found[i].shard.table.find(found[i].hash) // An earlier charge's new slot may have moved it.
		dst = append(dst, ratelimit.Verdict{})
		found[i].settle(c, &dst[len(dst)-1], ok, fit && ok, found)
	}
	s.unlock(shards)
	if fit {
		s.janitor.arm()
	}
	return dst
}

// lock takes the shards' locks in their order, so that two calls cannot wait for each other, and moves their time on
// when all are held: no call decides at a time at which another can still record before it.
func (s *Store) lock(shards uint64, micros int64) {
	for rest := shards; rest != 0; rest &= rest - 1 {
		s.shards[bits.TrailingZeros64(rest)].mu.Lock()
	}
	for rest := shards; rest != 0; rest &= rest - 1 {
		s.shards[bits.TrailingZeros64(rest)].advance(micros)
	}
}

func (s *Store) unlock(shards uint64) {
	for rest := shards; rest != 0; rest &= rest - 1 {
		s.shards[bits.TrailingZeros64(rest)].mu.Unlock()
	}
}
