package redis

import (
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

var perHour = ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Hour}

func charge(budget, id string, l ratelimit.Limit, cost int64) ratelimit.Charge {
	return ratelimit.Charge{Key: ratelimit.Key{Budget: budget, Group: "acme", ID: id}, Limit: l, Cost: cost}
}

func takeOne(t *testing.T, s *Store, c ratelimit.Charge) ratelimit.Verdict {
	t.Helper()
	v, err := s.Take(t.Context(), []ratelimit.Charge{c})
	if err != nil {
		t.Fatalf("take %+v: %v", c, err)
	}
	return v[0]
}

// used is how many units are counted.
func used(t *testing.T, s *Store, c ratelimit.Charge) int64 {
	t.Helper()
	c.Cost = 0
	return c.Limit.N - takeOne(t, s, c).Remaining
}

// limits are one of each algorithm.
func limits() map[string]ratelimit.Limit {
	return map[string]ratelimit.Limit{
		"log":      {Algorithm: ratelimit.SlidingLog, N: 5, Window: time.Minute},
		"segments": {Algorithm: ratelimit.Segments, N: 5, Window: time.Minute},
		"bucket":   {Algorithm: ratelimit.TokenBucket, N: 600, Refill: 10},
		"window":   {Algorithm: ratelimit.FixedWindow, N: 5, Window: time.Minute},
	}
}

// TestTimeToLive plants values without, and with too long, a time to live: after any call it is within the span.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, direct := newStore(t, server.URL), server.Client(t)
	spoil := map[string]func(key string) error{
		"as set":   func(string) error { return nil },
		"none":     func(key string) error { return direct.Persist(t.Context(), key).Err() },
		"too long": func(key string) error { return direct.Expire(t.Context(), key, 24*time.Hour).Err() },
	}
	for name, limit := range limits() {
		for how, plant := range spoil {
			for _, cost := range []int64{0, 1, limit.N, limit.N + 1} {
				c := charge(name, fmt.Sprint(how, cost), limit, 1)
				takeOne(t, s, c)
				key := s.keyOf(c)
				if err := plant(key); err != nil {
					t.Fatal(err)
				}
				c.Cost = cost
				takeOne(t, s, c)
				if ttl := direct.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > limit.Span() {
					t.Errorf("%s, time to live %s, cost %d: %v, want within %v", name, how, cost, ttl, limit.Span())
				}
			}
		}
	}
}

// keyOf is the key of a charge's counter.
func (s *Store) keyOf(c ratelimit.Charge) string {
	return s.keys.key(s.keys.tag(c.Key.Group), &c.Key, c.Limit.Algorithm)
}

// TestLoweredBucketKeepsItsDebt spends a bucket that is lowered afterwards: its time to live covers what it lacks, and
// what was spent is still spent when it is raised again.
func TestLoweredBucketKeepsItsDebt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.URL)
	c := charge("org", "acme", ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 1000, Refill: 1}, 1000)
	takeOne(t, s, c)
	c.Limit.N, c.Cost = 10, 0
	if err := server.Client(t).Persist(t.Context(), s.keyOf(c)).Err(); err != nil {
		t.Fatal(err)
	}
	if v := takeOne(t, s, c); v.Remaining != 0 {
		t.Errorf("lowered: %+v", v)
	}
	c.Limit.N = 2000
	if v := takeOne(t, s, c); v.Remaining < 1000 || v.Remaining > 1010 {
		t.Errorf("raised: %+v, want 1000 left", v)
	}
	c.Limit.Refill = 1000
	if v := takeOne(t, s, c); v.Remaining < 1000 || v.Next > 10*time.Millisecond {
		t.Errorf("refilled faster: %+v, want 1000 left and a unit each millisecond", v)
	}
}

func TestKeysHideWhatTheyName(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, direct := newStore(t, server.URL), server.Client(t)
	hostile := []string{"", "a:b", "{}", "{a}{b}", "}{", "*", "\r\nFLUSHALL\r\n", "\x00", "\xff", strings.Repeat("{x}", 20_000), "alice@acme.example"}
	for i, group := range hostile {
		for _, id := range hostile {
			c := ratelimit.Charge{Key: ratelimit.Key{Budget: "user", Group: group, ID: id}, Limit: perHour, Cost: int64(i)}
			takeOne(t, s, c)
		}
	}
	keys := direct.Keys(t.Context(), "*").Val()
	if want := len(hostile) * (len(hostile) - 1); len(keys) != want { // A cost of 0 leaves no key.
		t.Errorf("%d keys, want %d", len(keys), want)
	}
	const form = "rl:1:{xxxxxxxxxxx}:xxxxxxxxxxxxxxxxxxxxxx"
	for _, key := range keys {
		if len(key) != len(form) || !strings.HasPrefix(key, "rl:1:{") || strings.Count(key, "{") != 1 || strings.Count(key, "}") != 1 {
			t.Errorf("key %q is not of the form %s", key, form)
		}
	}
	if strings.Contains(strings.Join(keys, " "), "alice") {
		t.Error("a key names an id")
	}
}

func TestKeysDependOnTheSecret(t *testing.T) {
	t.Parallel()
	key := ratelimit.Key{Budget: "user", Group: "acme", ID: "alice"}
	one, other := newKeyring([]byte("one secret of 26 bytes....")), newKeyring([]byte("another secret of 28 bytes.."))
	if one.tag("acme") == other.tag("acme") || one.key("tag", &key, 1) == other.key("tag", &key, 1) {
		t.Error("keys are the same under another secret")
	}
	if one.key("tag", &key, 1) == one.key("tag", &key, 2) {
		t.Error("two algorithms share a key")
	}
}

func TestDifferentGroupsAreAFault(t *testing.T) {
	t.Parallel()
	s := newStore(t, "redis://127.0.0.1:1")
	a, b := charge("user", "alice", perHour, 1), charge("org", "acme", perHour, 1)
	b.Key.Group = "another"
	if _, err := s.Take(t.Context(), []ratelimit.Charge{a, b}); !errors.Is(err, ratelimit.ErrCharge) || !strings.Contains(err.Error(), "groups") {
		t.Errorf("take: %v", err)
	}
	returns := []ratelimit.Return{{Key: a.Key, Limit: perHour}, {Key: b.Key, Limit: perHour}}
	if _, err := s.GiveBack(t.Context(), returns); !errors.Is(err, ratelimit.ErrCharge) {
		t.Errorf("give back: %v", err)
	}
}

// TestForeignValue plants values of other types and shapes: it is a fault of that key alone, until it is reset.
func TestForeignValue(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, direct := newStore(t, server.URL), server.Client(t)
	plants := map[string]func(key string) error{
		"list":   func(key string) error { return direct.RPush(t.Context(), key, "x").Err() },
		"hash":   func(key string) error { return direct.HSet(t.Context(), key, "x", "y").Err() },
		"number": func(key string) error { return direct.Set(t.Context(), key, 12345678, 0).Err() },
		"empty":  func(key string) error { return direct.Set(t.Context(), key, "", 0).Err() },
		"text":   func(key string) error { return direct.Set(t.Context(), key, "Lorem ipsum, quia dolor sit.", 0).Err() },
		"long":   func(key string) error { return direct.Set(t.Context(), key, strings.Repeat("L", 1<<20), 0).Err() },
	}
	for name, limit := range limits() {
		for how, plant := range plants {
			bad, good := charge(name, how, limit, 1), charge("good", name+how, perHour, 1)
			if err := plant(s.keyOf(bad)); err != nil {
				t.Fatal(err)
			}
			v, err := s.Take(t.Context(), []ratelimit.Charge{bad, good})
			if err != nil || v[0].Err == nil || v[0].OK || v[0].Receipt.ID != 0 || v[1].Err != nil || !v[1].OK || v[1].Remaining != 99 {
				t.Errorf("%s, %s: %+v, %v", name, how, v, err)
			}
			if said := fmt.Sprint(v[0].Err); !strings.HasPrefix(said, s.keyOf(bad)+": ") {
				t.Errorf("%s, %s: where it is stored is said as %s", name, how, said)
			}
			if ttl := direct.PTTL(t.Context(), s.keyOf(bad)).Val(); ttl <= 0 || ttl > limit.Span() {
				t.Errorf("%s, %s: time to live %v", name, how, ttl)
			}
			if err := s.Reset(t.Context(), bad.Key); err != nil {
				t.Fatal(err)
			}
			if v := takeOne(t, s, bad); v.Err != nil || !v.OK || v.Remaining != limit.N-1 {
				t.Errorf("%s, %s: after a reset: %+v", name, how, v)
			}
		}
	}
}

// TestAnyBytes stores arbitrary bytes under the shapes' own first letters: whatever they are, a call ends with a
// verdict in bounds, never with an error of the whole call.
func TestAnyBytes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, direct := newStore(t, server.URL), server.Client(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		var charges []ratelimit.Charge
		for _, name := range []string{"log", "segments", "bucket", "window"} {
			limit := limits()[name]
			c := charge(name, fmt.Sprint(run), limit, rapid.Int64Range(0, limit.N+1).Draw(rt, "cost"))
			entries := rapid.IntRange(0, 61).Draw(rt, "entries")
			size := map[string]int{"log": 8 * entries, "segments": 7 + 13*entries, "bucket": 26, "window": 14}[name]
			bytes := rapid.SliceOfN(rapid.Byte(), size, size).Draw(rt, name)
			value := map[string]string{"log": "L", "segments": "S", "bucket": "B", "window": "W"}[name] + string(bytes)
			if err := direct.Set(rt.Context(), s.keyOf(c), value, 0).Err(); err != nil {
				rt.Fatal(err)
			}
			charges = append(charges, c)
		}
		verdicts, err := s.Take(rt.Context(), charges)
		if err != nil {
			rt.Fatal(err)
		}
		for i, v := range verdicts {
			if v.Err == nil && (v.Remaining < 0 || v.Remaining > charges[i].Limit.N || v.Next < 0) {
				rt.Errorf("%+v: %+v", charges[i], v)
			}
		}
		_, err = s.GiveBack(rt.Context(), []ratelimit.Return{{
			Key: charges[0].Key, Limit: charges[0].Limit, Receipt: ratelimit.Receipt{ID: rapid.Uint64().Draw(rt, "id"), Cost: 3}, Units: 2,
		}})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// TestManyProcesses has four stores of 500 goroutines each share one limit of 100, on Redis's own clock.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		s := newStore(t, server.URL)
		for range 500 {
			wg.Go(func() {
				v, err := s.Take(t.Context(), []ratelimit.Charge{charge("user", "hot", perHour, 1)})
				if err != nil {
					t.Errorf("take: %v", err)
				} else if v[0].OK {
					admitted.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if got := admitted.Load(); got != 100 {
		t.Errorf("%d admitted, want 100", got)
	}
}

// TestRealClock waits as long as the store says, on Redis's clock.
func TestRealClock(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).URL)
	for name, limit := range map[string]ratelimit.Limit{
		"log":      {Algorithm: ratelimit.SlidingLog, N: 3, Window: 400 * time.Millisecond},
		"segments": {Algorithm: ratelimit.Segments, N: 3, Window: 400 * time.Millisecond},
		"bucket":   {Algorithm: ratelimit.TokenBucket, N: 3, Refill: 3},
		"window":   {Algorithm: ratelimit.FixedWindow, N: 3, Window: 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := charge(name, "someone", limit, 3)
			if v := takeOne(t, s, c); !v.OK || v.Remaining != 0 {
				t.Fatalf("fresh: %+v", v)
			}
			for {
				v := takeOne(t, s, c)
				if v.OK {
					break
				}
				time.Sleep(v.Retry) // The wait that the store says is enough.
			}
			if took := time.Since(began); took < limit.Span()*60/61-time.Millisecond {
				t.Errorf("admitted twice within %v", took)
			}
		})
	}
}

// TestScriptFlush empties Redis's script cache again and again under load: every call succeeds and counts once.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, direct := newStore(t, server.URL), server.Client(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if v, err := s.Take(t.Context(), []ratelimit.Charge{charge("user", "flush", ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 1000, Window: time.Hour}, 1)}); err != nil || !v[0].OK {
					t.Errorf("take: %+v, %v", v, err)
				}
			}
		})
	}
	for range 20 {
		if err := direct.ScriptFlush(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	c := charge("user", "flush", ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 1000, Window: time.Hour}, 0)
	if got := used(t, s, c); got != 800 {
		t.Errorf("%d counted, want 800", got)
	}
}

func TestLargestCost(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).URL)
	largest := ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: ratelimit.MaxLimit, Window: time.Hour}
	if v := takeOne(t, s, charge("x", "x", largest, math.MaxInt64)); v.OK || v.Retry != ratelimit.Never || v.Remaining != largest.N {
		t.Errorf("above the limit: %+v", v)
	}
	if v := takeOne(t, s, charge("x", "x", largest, ratelimit.MaxLimit-1)); !v.OK || v.Remaining != 1 {
		t.Errorf("one below the limit: %+v", v)
	}
}

func TestNewFaults(t *testing.T) {
	t.Parallel()
	secret := make([]byte, 32)
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"no secret":     {Config{URL: "redis://localhost"}, "at least 16"},
		"no URL":        {Config{Secret: secret}, "redis://host:port/0"},
		"wrong scheme":  {Config{URL: "http://localhost", Secret: secret}, "redis://host:port/0"},
		"wrong cluster": {Config{URL: "http+cluster://localhost", Secret: secret}, "redis+cluster://"},
		"wrong kind":    {Config{URL: "redis+ring://localhost", Secret: secret}, "redis+cluster://"},
		"empty host":    {Config{URL: "redis+cluster://a,,b", Secret: secret}, "hosts"},
		"no master":     {Config{URL: "redis+sentinel://a", Secret: secret}, "names no master"},
		"no number":     {Config{URL: "redis+sentinel://a/main/x", Secret: secret}, "no number"},
		"unreadable":    {Config{URL: "redis://user:hunter2@[::1", Secret: secret}, "redis://host:port/0"},
	} {
		_, err := New(test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one with %q and no password", name, err, test.want)
		}
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]address{
		"redis://a:1":                                 {},
		"unix:///run/redis.sock":                      {},
		"redis+cluster://a:1":                         {kind: "cluster", hosts: []string{"a:1"}},
		"redis+cluster://a,b:2,[::1],[::2]:3/":        {kind: "cluster", hosts: []string{"a:6379", "b:2", "[::1]:6379", "[::2]:3"}},
		"redis+cluster://me:p%2Cw%40@a:1,b:2":         {kind: "cluster", hosts: []string{"a:1", "b:2"}, user: "me", password: "p,w@"},
		"redis+sentinel://:pw@a,b:2/main/3":           {kind: "sentinel", hosts: []string{"a:26379", "b:2"}, password: "pw", path: "main/3"},
		"redis+sentinel://a/main?sentinel_password=x": {kind: "sentinel", hosts: []string{"a:26379"}, path: "main"},
	} {
		got, err := parseAddress(raw)
		got.query = nil
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", raw, got, err, want)
		}
	}
	if a, err := parseAddress("rediss+cluster://a,b"); err != nil || a.tls == nil || a.tls.ServerName != "a" {
		t.Errorf("encrypted cluster: %+v, %v", a, err)
	}
}

// FuzzParseAddress holds that any text is an address whose hosts all have names and ports, or an error without it.
func FuzzParseAddress(f *testing.F) {
	for _, raw := range []string{"redis://a", "redis+cluster://u:p@a,b:1/", "redis+sentinel://[::1]/m/0?x=y", "redis+cluster://,", "+://@,@"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := parseAddress(raw)
		if err != nil {
			if len(raw) > 40 && strings.Contains(err.Error(), raw) {
				t.Errorf("%q: the error repeats it", raw)
			}
			return
		}
		for _, host := range a.hosts {
			if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" && !strings.HasSuffix(host, ":") {
				t.Errorf("%q: host %q", raw, host)
			}
		}
	})
}

func TestSlotOf(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]int{"123456789": 0x31C3, "foo": 12182, "": 0} {
		if got := slotOf(tag); got != want {
			t.Errorf("slot of %q: %d, want %d", tag, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int{"noeviction": 0, "allkeys-lru": 1, "volatile-ttl": 1} {
		s := newStore(t, redistest.Start(t, "--maxmemory-policy", policy).URL)
		got, err := s.Warnings(t.Context())
		if err != nil || len(got) != want || want == 1 && !strings.Contains(got[0], policy) {
			t.Errorf("%s: %q, %v", policy, got, err)
		}
	}
}

func FuzzDecodeVerdicts(f *testing.F) {
	f.Add("", 0)
	f.Add(strings.Repeat("\x01", verdictSize), 1)
	f.Add(strings.Repeat("\xff", 2*verdictSize), 2)
	f.Fuzz(func(t *testing.T, answer string, n int) {
		charges := make([]ratelimit.Charge, max(0, n)%16)
		verdicts, err := decodeVerdicts(&decision{answer: answer, keys: make([]string, len(charges))}, charges)
		if (err == nil) != (len(answer) == verdictSize*len(charges)) || err == nil && len(verdicts) != len(charges) {
			t.Errorf("%d bytes for %d charges: %d verdicts, %v", len(answer), len(charges), len(verdicts), err)
		}
	})
}

var _ goredis.Cmder = (*command)(nil)
