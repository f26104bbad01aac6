package memory_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
)

func sliding(n int64, window time.Duration) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: n, Window: window}
}

func key(i int) ratelimit.Key { return ratelimit.Key{Budget: "edge", ID: strconv.Itoa(i)} }

func take(t *testing.T, s *memory.Store, i int, l ratelimit.Limit) ratelimit.Verdict {
	t.Helper()
	v, err := s.Take(context.Background(), []ratelimit.Charge{{Key: key(i), Limit: l, Cost: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// TestCapHolds floods a small store with keys: it stays under its cap, evicts expired keys before others and counts
// those that were not.
func TestCapHolds(t *testing.T) {
	t.Parallel()
	const keys = 1000
	c, limit := new(ratelimittest.Clock), sliding(10, time.Minute)
	var evicted atomic.Int64
	s := open(t, memory.Config{Keys: keys, Clock: c.Elapsed, Evicted: func() { evicted.Add(1) }})
	for i := range 5 * keys {
		take(t, s, i, limit)
	}
	full := s.Stats()
	if full.Keys > keys || full.Keys < keys*9/10 {
		t.Errorf("%d keys, want about %d", full.Keys, keys)
	}
	if want := int64(5*keys - full.Keys); full.Evicted != want || evicted.Load() != want {
		t.Errorf("%d evicted, %d reported, want %d", full.Evicted, evicted.Load(), want)
	}
	c.Advance(2 * time.Minute)
	for i := range keys / 2 {
		take(t, s, -i-1, limit)
	}
	if now := s.Stats(); now.Evicted != full.Evicted || now.Keys > keys {
		t.Errorf("%d evicted after all had expired, want %d; %d keys", now.Evicted, full.Evicted, now.Keys)
	}
}

// TestRefusedKeysStay spends some keys and floods the store with others: the spent ones stay refused until their window
// ends.
func TestRefusedKeysStay(t *testing.T) {
	t.Parallel()
	c, limit := new(ratelimittest.Clock), sliding(2, time.Minute)
	s := open(t, memory.Config{Keys: 600, Clock: c.Elapsed})
	for i := range 100 {
		for range 3 {
			take(t, s, i, limit)
		}
	}
	for i := range 10_000 {
		take(t, s, 1000+i, limit)
	}
	for i := range 100 {
		if v := take(t, s, i, limit); v.OK {
			t.Errorf("key %d was forgotten: %+v", i, v)
		}
	}
	c.Advance(time.Minute)
	if v := take(t, s, 0, limit); !v.OK {
		t.Errorf("after the window: %+v", v)
	}
}

// TestFullOfRefusedKeys has no key that may be evicted: a new one is a fault of that key alone.
func TestFullOfRefusedKeys(t *testing.T) {
	t.Parallel()
	c, limit := new(ratelimittest.Clock), sliding(1, time.Minute)
	s := open(t, memory.Config{Keys: 10, Clock: c.Elapsed})
	for i := range 10 {
		take(t, s, i, limit)
		take(t, s, i, limit)
	}
	charges := []ratelimit.Charge{{Key: key(99), Limit: limit, Cost: 1}, {Key: key(3), Limit: limit}}
	v, err := s.Take(context.Background(), charges)
	if err != nil || !errors.Is(v[0].Err, memory.ErrFull) || v[0].OK || v[1].Err != nil {
		t.Errorf("got %+v, %v", v, err)
	}
	if s.Stats().Full != 1 {
		t.Errorf("%d charges found no place", s.Stats().Full)
	}
	c.Advance(3 * time.Minute)
	if v := take(t, s, 99, limit); !v.OK {
		t.Errorf("after the window: %+v", v)
	}
}

// TestNewKeysMoveOldOnes makes calls of known and new keys in turn, all in one shard: a table that grows in the middle
// of a call must not mix them up.
func TestNewKeysMoveOldOnes(t *testing.T) {
	t.Parallel()
	c, limit := new(ratelimittest.Clock), sliding(100, time.Minute)
	s := open(t, memory.Config{Keys: 200, Clock: c.Elapsed})
	for call := range 40 {
		var charges []ratelimit.Charge
		for i := range 4 {
			known, fresh := key(i), key(1000+4*call+i)
			charges = append(charges, ratelimit.Charge{Key: fresh, Limit: limit, Cost: 1}, ratelimit.Charge{Key: known, Limit: limit, Cost: 1})
		}
		v, err := s.Take(t.Context(), charges)
		if err != nil {
			t.Fatal(err)
		}
		for i := range v {
			want := int64(99)
			if i%2 == 1 {
				want -= int64(call)
			}
			if v[i].Remaining != want || !v[i].OK {
				t.Fatalf("call %d, charge %d: %+v, want %d left", call, i, v[i], want)
			}
		}
	}
}

// TestMemoryIsGivenBack fills a store in one window and leaves it alone: its janitor gives the memory back, and nothing
// runs when it is closed.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{Keys: 50_000})
		limit := sliding(10, time.Minute)
		for i := range 20_000 {
			take(t, s, i, limit)
			take(t, s, i, limit)
		}
		full := s.Stats()
		if full.Keys != 20_000 || full.Bytes < 20_000*32 {
			t.Fatalf("%+v", full)
		}
		time.Sleep(2 * time.Minute)
		if idle := s.Stats(); idle.Keys != 0 || idle.Bytes != 0 {
			t.Errorf("two windows later: %+v", idle)
		}
		take(t, s, 1, limit)
		s.Close()
		time.Sleep(time.Hour)
		if closed := s.Stats(); closed.Bytes != 0 {
			t.Errorf("closed: %+v", closed)
		}
	})
}

// TestMostMemoryIsGivenBack keeps a few keys in use while the others expire: rings and tables shrink around them.
func TestMostMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	c, limit := new(ratelimittest.Clock), sliding(200, time.Minute)
	s := open(t, memory.Config{Keys: 100_000, Clock: c.Elapsed})
	for i := range 20_000 {
		for range 5 {
			take(t, s, i, limit)
		}
	}
	full := s.Stats().Bytes
	c.Advance(30 * time.Second)
	for i := range 100 {
		take(t, s, i, limit)
	}
	c.Advance(45 * time.Second)
	s.Sweep()
	left := s.Stats()
	if left.Keys != 100 || left.Bytes > full/4 {
		t.Errorf("%d bytes were full, left %+v", full, left)
	}
	for i := range 100 {
		if v := take(t, s, i, limit); v.Remaining != 198 {
			t.Errorf("key %d: %+v", i, v)
		}
	}
}

// TestFloodOfAddresses is a flood of distinct addresses in a window, 5 million without the race detector.
func TestFloodOfAddresses(t *testing.T) {
	t.Parallel()
	const keys = flood / 25
	c, limit := new(ratelimittest.Clock), sliding(100, time.Minute)
	s := open(t, memory.Config{Keys: keys, Clock: c.Elapsed})
	charges := []ratelimit.Charge{{Limit: limit, Cost: 1}}
	var verdicts []ratelimit.Verdict
	id := make([]byte, 0, 16)
	for i := range flood {
		id = strconv.AppendInt(id[:0], int64(i), 36)
		charges[0].Key = ratelimit.Key{Budget: "edge", ID: string(id)}
		var err error
		if verdicts, err = s.AppendTake(verdicts[:0], charges); err != nil || !verdicts[0].OK {
			t.Fatalf("address %d: %+v, %v", i, verdicts, err)
		}
		c.Advance(time.Minute / flood)
	}
	full := s.Stats()
	if full.Keys > keys || full.Bytes > keys*100 {
		t.Errorf("in flood: %+v", full)
	}
	c.Advance(2 * time.Minute)
	s.Sweep()
	if after := s.Stats(); after.Keys != 0 || after.Bytes != 0 {
		t.Errorf("two windows later: %+v", after)
	}
}

func TestSteadyUseAllocatesNothing(t *testing.T) {
	c := new(ratelimittest.Clock)
	s := open(t, memory.Config{Clock: c.Elapsed})
	all := []ratelimit.Charge{
		{Key: key(1), Limit: sliding(100, time.Minute), Cost: 1},
		{Key: key(2), Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 600, Refill: 10}, Cost: 1},
		{Key: key(3), Limit: ratelimit.Limit{Algorithm: ratelimit.Segments, N: 20_000, Window: time.Hour}, Cost: 9},
		{Key: key(4), Limit: ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: 100, Window: time.Minute}, Cost: 1},
	}
	verdicts := make([]ratelimit.Verdict, 0, len(all))
	for _, charges := range [][]ratelimit.Charge{all[:1], all} {
		call := func() {
			c.Advance(300 * time.Millisecond)
			if _, err := s.AppendTake(verdicts, charges); err != nil {
				t.Fatal(err)
			}
		}
		for range 20_000 {
			call()
		}
		if allocs := testing.AllocsPerRun(1000, call); allocs != 0 {
			t.Errorf("%d charges: %v allocations a call", len(charges), allocs)
		}
	}
}

// TestLoweredRefillKeepsTheDebt lowers a bucket's refill: a sweep must not forget what now takes longer to refill.
func TestLoweredRefillKeepsTheDebt(t *testing.T) {
	t.Parallel()
	c := new(ratelimittest.Clock)
	s := open(t, memory.Config{Clock: c.Elapsed})
	fast := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 3000, Refill: 50}
	slow := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 3000, Refill: 1}
	for range 3000 {
		take(t, s, 1, fast)
	}
	take(t, s, 1, slow)
	c.Advance(2 * time.Minute)
	s.Sweep()
	if v := take(t, s, 1, slow); v.Remaining != 119 {
		t.Errorf("got %+v, want 120 refilled and one spent", v)
	}
}
