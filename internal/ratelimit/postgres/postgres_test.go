package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// TestManyProcesses has four stores of 500 goroutines each share one limit of 100, on the database's own clock. Calls that
// a busy machine does not let through in time are in doubt: counted or not, but never over the limit.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	stores := newStores(t, openPools(t, storetest.URL(t), 4))
	for name, limit := range map[string]ratelimit.Limit{"log": sliding(100, time.Hour), "fixed window": fixed(100, time.Hour)} {
		var admitted, failed atomic.Int64
		var wg sync.WaitGroup
		for g := range 2000 {
			wg.Go(func() {
				v, err := stores[g%len(stores)].Take(t.Context(), []ratelimit.Charge{charge("hot", limit, 1)})
				switch {
				case errors.Is(err, store.ErrUnavailable):
					failed.Add(1)
				case err != nil:
					t.Error(err)
				case v[0].OK:
					admitted.Add(1)
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n > 100 || n+failed.Load() < 100 {
			t.Errorf("%s: %d admitted and %d in doubt, want 100 together", name, n, failed.Load())
		}
	}
}

// TestClocksOfProcesses has two processes whose clocks are 20 s apart share a limit: time is the database's, so together
// they admit it once and say the same of when there is more.
func TestClocksOfProcesses(t *testing.T) {
	t.Parallel()
	stores := newStores(t, openPools(t, storetest.URL(t), 2))
	var limiters []*ratelimit.Limiter
	for i, skew := range []time.Duration{-10 * time.Second, 10 * time.Second} {
		l, err := ratelimit.New(ratelimit.Config{
			Budgets: []ratelimit.Budget{{Name: "auth.login", Limit: sliding(6, time.Minute), Store: "postgres", OnFailure: ratelimit.Closed, Enforce: true, MaxCost: 1}},
			Stores:  map[string]ratelimit.Store{"postgres": stores[i]}, Timeout: time.Minute,
			Now: func() time.Time { return time.Now().Add(skew) },
		})
		if err != nil {
			t.Fatal(err)
		}
		limiters = append(limiters, l)
	}
	ask := ratelimit.Ask{Budget: "auth.login", Group: "g", ID: "x", Cost: 1}
	for i := range 6 {
		if d := limiters[i%2].Decide(t.Context(), ask); d.Outcome != ratelimit.Allowed {
			t.Fatalf("call %d: %+v", i, d)
		}
	}
	var waits [2]time.Duration
	began := time.Now()
	for i, l := range limiters {
		d := l.Decide(t.Context(), ask)
		wait, ok := d.RetryAfter()
		if d.Outcome != ratelimit.Denied || !ok {
			t.Fatalf("over the limit: %+v", d)
		}
		waits[i] = wait
	}
	if apart := waits[0] - waits[1]; apart < 0 || apart > time.Since(began) || waits[0] > time.Minute {
		t.Errorf("the processes say to wait %v and %v", waits[0], waits[1])
	}
}

// TestBrokenValue plants values that are no counters: each is a fault of its key alone, until it is reset.
func TestBrokenValue(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.exec("ALTER TABLE limiter_counters ALTER state DROP NOT NULL")
	plants := map[ratelimit.Algorithm]map[string]any{
		ratelimit.SlidingLog: {
			"null": nil, "a null entry": "{1,NULL,2}", "a negative entry": "{-5}", "not in order": "{4096000,2048}", "nested": "{{1,2},{3,4}}",
			"from another index on": "[0:1]={1,2}", "too long": "{" + strings.Repeat("1,", ratelimit.MaxLog) + "1}",
		},
		ratelimit.FixedWindow: {
			"null": nil, "a negative count": "{1,-1}", "a negative time": "{-1,1}", "a null count": "{1,NULL}", "too short": "{1}",
			"too long": "{1,2,3}", "nested": "{{1,2}}", "more than any limit": "{1,9223372036854775807}",
		},
	}
	for algorithm, values := range plants {
		for name, value := range values {
			limit := ratelimit.Limit{Algorithm: algorithm, N: 100, Window: time.Hour}
			bad, good := charge(name, limit, 1), charge("beside "+name, limit, 1)
			s.exec("INSERT INTO limiter_counters (key, state, expires_at) VALUES ($1, ($2::text)::bigint[], 0)", s.keyOf(bad), value)
			if v := s.take(bad, good); v[0].Err == nil || v[0].OK || v[0].Receipt.ID != 0 || v[1].Err != nil || !v[1].OK || v[1].Remaining != 99 {
				t.Errorf("%v, %s: %+v", algorithm, name, v)
			} else if said := v[0].Err.Error(); !strings.HasPrefix(said, fmt.Sprintf(`\x%x: `, s.keyOf(bad))) {
				t.Errorf("%v, %s: where it is stored is said as %s", algorithm, name, said)
			}
			returned, err := s.GiveBack(t.Context(), []ratelimit.Return{{Key: bad.Key, Limit: limit, Receipt: ratelimit.Receipt{ID: 1, Cost: 1}, Units: 1}})
			if err != nil || returned[0] != 0 {
				t.Errorf("%v, %s: gave back %v, %v", algorithm, name, returned, err)
			}
			if err := s.Reset(t.Context(), bad.Key); err != nil {
				t.Fatal(err)
			}
			if v := s.take(bad)[0]; v.Err != nil || !v.OK || v.Remaining != 99 {
				t.Errorf("%v, %s: after a reset: %+v", algorithm, name, v)
			}
		}
	}
}

// TestAnyValue stores arbitrary numbers: whatever they are, a call ends with a verdict in bounds or a fault of the key,
// never with an error of the whole call.
func TestAnyValue(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 5), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, time.Now().UnixMicro(), time.Now().UnixMicro() << 11}))
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.SampledFrom([]ratelimit.Limit{sliding(3, time.Hour), fixed(3, time.Hour)}).Draw(rt, "limit")
		c := charge("any", limit, rapid.Int64Range(0, 4).Draw(rt, "cost"))
		numbers := rapid.SliceOfN(number, 0, 4).Draw(rt, "state")
		s.exec("DELETE FROM limiter_counters")
		s.exec("INSERT INTO limiter_counters (key, state, expires_at) VALUES ($1, $2, $3)", s.keyOf(c), numbers, number.Draw(rt, "expiry"))
		v := s.take(c)[0]
		if v.Err == nil && (v.Remaining < 0 || v.Remaining > 3 || v.Next < 0 || v.Next > time.Hour || v.Retry > time.Hour) {
			rt.Fatalf("%v: %+v", numbers, v)
		}
		r := ratelimit.Return{Key: c.Key, Limit: limit, Receipt: ratelimit.Receipt{ID: rapid.Uint64().Draw(rt, "receipt"), Cost: 4}, Units: 4}
		if len(numbers) > 0 && numbers[0] > 0 {
			r.Receipt.ID = uint64(numbers[0])
		}
		if given, err := s.GiveBack(t.Context(), []ratelimit.Return{r}); err != nil || given[0] < 0 || given[0] > 4 {
			rt.Fatalf("%v: gave back %v, %v", numbers, given, err)
		}
	})
}

// TestRefusedCallsWriteNothing looks at the row itself, and for rows of keys that were only asked about.
func TestRefusedCallsWriteNothing(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for name, limit := range map[string]ratelimit.Limit{"log": sliding(2, time.Hour), "fixed window": fixed(2, time.Hour)} {
		spent, fresh := charge(name, limit, 2), charge("fresh "+name, limit, 1)
		s.take(spent)
		const version = "SELECT concat(ctid, ' ', xmin, ' ', xmax) FROM limiter_counters WHERE key = $1"
		before := scalar[string](s, version, s.keyOf(spent))
		for range 3 {
			s.take(spent, fresh)
		}
		s.take(charge(name, limit, 0), charge("fresh "+name, limit, 0))
		if after := scalar[string](s, version, s.keyOf(spent)); after != before {
			t.Errorf("%s: the row was %s and is %s", name, before, after)
		}
		if n := scalar[int](s, "SELECT count(*) FROM limiter_counters WHERE key = $1", s.keyOf(fresh)); n != 0 {
			t.Errorf("%s: a refused call left a row", name)
		}
	}
}

// TestNoBloat keeps one key busy with calls that are all admitted: once warm, its table does not grow. It runs alone,
// because the space of an old row is used again only when no transaction of the cluster may still see it.
func TestNoBloat(t *testing.T) {
	s := newSetup(t)
	busy := func() int64 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 400 {
					if _, err := s.Take(t.Context(), []ratelimit.Charge{charge("busy", sliding(50, ratelimit.MinWindow), 1)}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return scalar[int64](s, "SELECT pg_table_size('limiter_counters')")
	}
	// Each call that is admitted makes a version of the row, of some 500 bytes: 800 kB a round if none were used again.
	warm, later := busy(), busy()
	if grown := later - warm; warm > 256<<10 || grown > 64<<10 {
		t.Errorf("one counter takes %d bytes, and %d more after as many calls again", warm, grown)
	}
}

// TestLockedCounter holds a counter's lock, and then its row: calls end with an error before their deadline, and count
// nothing.
func TestLockedCounter(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"lock": "SELECT limiter_lock_1(ARRAY[$1::bytea], 1000)",
		"row":  "SELECT FROM limiter_counters WHERE key = $1 FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t)
			c, free := charge("locked", sliding(10, time.Hour), 1), charge("free", sliding(10, time.Hour), 1)
			s.take(c)
			s.exec("BEGIN")
			s.exec(lock, s.keyOf(c))
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			_, err := s.Take(ctx, []ratelimit.Charge{free, c})
			if !errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
				t.Errorf("error %v, context %v", err, ctx.Err())
			}
			if v := s.take(free)[0]; v.Remaining != 9 {
				t.Errorf("the failed call was counted: %+v", v)
			}
			s.exec("ROLLBACK")
			if v := s.take(c)[0]; v.Remaining != 8 {
				t.Errorf("after the lock: %+v", v)
			}
		})
	}
}

// TestLateExpiry plants a counter that would stay long after its units have left: any call sets that right.
func TestLateExpiry(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for name, limit := range map[string]ratelimit.Limit{"log": sliding(2, time.Hour), "fixed window": fixed(2, time.Hour)} {
		c := charge(name, limit, 2)
		s.take(c)
		s.exec("UPDATE limiter_counters SET expires_at = $1", int64(math.MaxInt64))
		s.take(c)
		left := scalar[int64](s, "SELECT expires_at - (extract(epoch FROM now()) * 1000000)::bigint FROM limiter_counters WHERE key = $1", s.keyOf(c))
		if stays := time.Duration(left) * time.Microsecond; stays <= 0 || stays > time.Hour {
			t.Errorf("%s: the counter stays for %v", name, stays)
		}
	}
}

func TestKeysHideWhatTheyName(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.take(charge("alice@acme.example", sliding(2, time.Hour), 1))
	key := scalar[[]byte](s, "SELECT key FROM limiter_counters")
	if len(key) != keySize || bytes.Contains(key, []byte("alice")) {
		t.Errorf("key %q", key)
	}
	other := keyring{[]byte("another secret of enough bytes")}
	name := charge("alice@acme.example", sliding(2, time.Hour), 1)
	if bytes.Equal(other.key(&name.Key, name.Limit.Algorithm), key) {
		t.Error("another secret makes the same key")
	}
}

func TestNewFaults(t *testing.T) {
	t.Parallel()
	if _, err := New(nil, Config{Secret: []byte("short")}); err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("a short secret: %v", err)
	}
}

func TestAlgorithmsItLacks(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for _, limit := range []ratelimit.Limit{
		{Algorithm: ratelimit.TokenBucket, N: 5, Refill: 1},
		{Algorithm: ratelimit.Segments, N: 5, Window: time.Minute},
	} {
		if s.Supports(limit.Algorithm) {
			t.Errorf("%v is supported", limit.Algorithm)
		}
		if _, err := s.Take(t.Context(), []ratelimit.Charge{charge("x", limit, 1)}); !errors.Is(err, ratelimit.ErrCharge) {
			t.Errorf("%v: %v", limit.Algorithm, err)
		}
	}
}

// TestCheck asks a database that has the migration, one that lacks it, and none.
func TestCheck(t *testing.T) {
	t.Parallel()
	ready := newSetup(t)
	if err := ready.Check(t.Context()); err != nil {
		t.Errorf("a migrated database: %v", err)
	}
	behind := newStore(t, openPools(t, storetest.EmptyURL(t), 1)[0])
	if err := behind.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("a database without the table: %v", err)
	}
	if _, err := behind.Take(t.Context(), []ratelimit.Charge{charge("x", sliding(1, time.Hour), 1)}); err == nil {
		t.Error("a database without the table counts")
	}
	down := newStore(t, openPools(t, "postgres://postgres@127.0.0.1:1/postgres", 1)[0])
	if err := down.Check(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a database that is down: %v", err)
	}
}

// TestPruning walks more counters than a batch has: what has expired goes, the rest stays, locked ones are left alone.
func TestPruning(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const expired, live = 2*pruneBatch + 10, 20
	s.exec(`INSERT INTO limiter_counters (key, state, expires_at)
		SELECT sha256(n::text::bytea), '{}', CASE WHEN n <= $1 THEN 0 ELSE 9000000000000000000 END FROM generate_series(1, $1::integer + $2::integer) n`, expired, live)
	s.exec("BEGIN")
	s.exec("SELECT FROM limiter_counters WHERE key = sha256('1') FOR UPDATE")
	if err := s.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("ROLLBACK")
	if n := scalar[int](s, "SELECT count(*) FROM limiter_counters"); n != live+1 {
		t.Errorf("%d counters are left, want %d", n, live+1)
	}
}

// TestPruningWhileCounting prunes all the time while counters with the shortest window come and go: no call fails, and
// what is left in the end can be pruned.
func TestPruningWhileCounting(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	ctx, cancel := context.WithCancel(t.Context())
	var pruning, counting sync.WaitGroup
	pruning.Go(func() {
		for ctx.Err() == nil {
			if err := s.prune(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for g := range 3 {
		counting.Go(func() {
			for i := range 200 {
				c := charge(fmt.Sprint(i%5), sliding(1000, ratelimit.MinWindow), int64(1+g))
				if v, err := s.Take(t.Context(), []ratelimit.Charge{c}); err != nil || !v[0].OK {
					t.Errorf("%+v, %v", v, err)
				}
			}
		})
	}
	counting.Wait()
	cancel()
	pruning.Wait()
}
