package memory

// sample is how many keys an eviction compares: enough to find a little used one, few enough to be quick.
const sample = 8

// evict frees a slot: of the expired keys if there are any, else of the least used among a few that were not refused.
// It is false if every key was refused within its window.
func (sh *shard) evict(keep []located) bool {
	if coarse(sh.now) >= sh.soonest && sh.expire() > 0 {
		return true
	}
	victim := sh.victim(keep)
	if victim < 0 {
		return false
	}
	sh.drop(victim)
	sh.evictions++
	if sh.store.evicted != nil {
		sh.store.evicted()
	}
	return true
}

// victim goes on from where the last search ended, so that all keys take turns.
func (sh *shard) victim(keep []located) int {
	best, seen := -1, 0
	for range sh.table.slots {
		if sh.hand++; sh.hand >= len(sh.table.slots) {
			sh.hand = 0
		}
		s := &sh.table.slots[sh.hand]
		if s.hash == 0 || s.refused || kept(keep, s.hash) {
			continue
		}
		if best < 0 || sh.lessUsed(s, &sh.table.slots[best]) {
			best = sh.hand
		}
		if seen++; seen == sample {
			break
		}
	}
	return best
}

// lessUsed compares by units counted, and by the time they stay.
func (sh *shard) lessUsed(a, b *slot) bool {
	if x, y := sh.weight(a), sh.weight(b); x != y {
		return x < y
	}
	return a.expires < b.expires
}

func kept(keep []located, h uint64) bool {
	for i := range keep {
		if keep[i].hash == h {
			return true
		}
	}
	return false
}

// expire drops the keys whose units have all left, and says how many.
func (sh *shard) expire() (dropped int) {
	now := coarse(sh.now)
	if now < sh.soonest {
		return 0
	}
	sh.soonest = never
	for i := 0; i < len(sh.table.slots); {
		s := &sh.table.slots[i]
		if s.hash != 0 && s.expires <= now {
			sh.drop(i) // Another key may have moved to i.
			dropped++
			continue
		}
		if s.hash != 0 {
			sh.soonest = min(sh.soonest, s.expires)
		}
		i++
	}
	return dropped
}

// fit gives memory back once most of it lies idle: keys and their rings move to new, smaller homes.
func (sh *shard) fit() {
	if sh.table.count == 0 {
		sh.table, sh.rings, sh.hand = table{}, rings{}, 0
		return
	}
	if sh.table.count < len(sh.table.slots)/4 && len(sh.table.slots) > firstSize {
		sh.table.resize(max(firstSize, sh.table.count+sh.table.count/2))
		sh.hand = 0
	}
	if idle := sh.rings.idle(); idle > sh.rings.bytes()/2 && idle > maxIdle {
		sh.repack()
	}
}

// maxIdle is how many bytes in free rings a shard may keep without a thought.
const maxIdle = 4 << 10

// repack moves every ring into fresh memory.
func (sh *shard) repack() {
	var packed rings
	for i := range sh.table.slots {
		s := &sh.table.slots[i]
		if s.size == 0 {
			continue
		}
		from := sh.queue(s)
		words, ring := from.len(), packed.alloc(s.size)
		for j := range words {
			*packed.word(s.size, ring, j) = *from.at(j)
		}
		from.set(ring, 0, words)
	}
	sh.rings = packed
}
