package ratelimit

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// repeatFor is the longest that a denial is repeated without asking, and so the longest until another process's
	// reset, give-back or new limit is felt here.
	repeatFor = time.Second
	// denialShards × denialsPerShard denials are remembered; a newer one takes an older one's place.
	denialShards    = 64
	denialsPerShard = 64
)

// denials remember what a store outside this process refused, so that a client that does not stop asking costs the
// store one call a second. Each is good only while nothing can have changed it: until the first unit leaves, for the
// same limit, for no lesser cost, and within one epoch, which every give-back and reset of this process ends.
type denials struct {
	seed   maphash.Seed
	epoch  atomic.Uint64
	shards [denialShards]denialShard
}

type denialShard struct {
	mu      sync.Mutex
	entries [denialsPerShard]denial
}

// A denial is one refused charge. Its times are on the limiter's clock.
type denial struct {
	hash, epoch     uint64
	limit           Limit
	cost, remaining int64
	until           time.Duration // When it ends; next and retry are when the verdict says.
	next, retry     time.Duration
}

// A mark is the state of affairs before a call, which a denial of that call belongs to.
type mark struct {
	epoch uint64
	began time.Duration
}

func newDenials() *denials { return &denials{seed: maphash.MakeSeed()} }

func (d *denials) entry(k *Key) (hash uint64, shard *denialShard, entry *denial) {
	hash = maphash.Comparable(d.seed, *k) | 1
	shard = &d.shards[hash>>58]
	return hash, shard, &shard.entries[hash>>52%denialsPerShard]
}

// remember keeps a refusal that the store gave to a call between m.began and ended. The store decided at some time
// between them: the denial must not outlive its reason if that was early, nor promise too short a wait if it was late.
func (d *denials) remember(m mark, ended time.Duration, r *Result) {
	v := &r.Verdict
	if v.Retry <= 0 {
		return
	}
	hash, shard, e := d.entry(&r.key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	*e = denial{
		hash: hash, epoch: m.epoch, limit: r.Limit, cost: r.cost, remaining: v.Remaining,
		until: m.began + min(repeatFor, v.Next, v.Retry), next: ended + v.Next, retry: ended + v.Retry,
	}
}

// recall repeats the refusal of the result's charge, if one is remembered that holds.
func (d *denials) recall(now time.Duration, r *Result) bool {
	hash, shard, e := d.entry(&r.key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if e.hash != hash || e.epoch != d.epoch.Load() || now >= e.until || r.cost < e.cost || r.cost > r.Limit.N || e.limit != r.Limit {
		return false
	}
	r.Verdict = Verdict{Remaining: e.remaining, Next: e.next - now, Retry: e.retry - now}
	return true
}

// forget ends the epoch: nothing remembered holds any more, and nothing that a call under way will want remembered.
func (d *denials) forget() { d.epoch.Add(1) }
