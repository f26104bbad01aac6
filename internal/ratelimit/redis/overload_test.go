package redis

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
)

// A crowd asks a limiter a thousand times a second, whatever becomes of the answers.
type crowd struct {
	limiter *ratelimit.Limiter
	proxy   *redistest.Proxy
	asked   atomic.Int64 // Calls that were sent to Redis though the breaker was open when they began.
	openAt  atomic.Int64 // When the breaker opened, as nanoseconds of the wall clock; 0 while it is closed.

	made, denied, uncounted atomic.Int64
	connections             int // The most that were open at once.
}

func newCrowd(t *testing.T, s *Store, proxy *redistest.Proxy) *crowd {
	t.Helper()
	c := &crowd{proxy: proxy}
	watch := func(string) ratelimit.StoreHooks { return ratelimit.StoreHooks{Asked: c.wasAsked, Breaker: c.switched} }
	var err error
	c.limiter, err = ratelimit.New(ratelimit.Config{
		Budgets: []ratelimit.Budget{{Name: "user", Limit: perHour, Store: "redis", OnFailure: ratelimit.Open, Enforce: true, MaxCost: 1}},
		Stores:  map[string]ratelimit.Store{"redis": s}, Timeout: s.Timeout(), Hooks: ratelimit.Hooks{Store: watch},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.limiter.Close)
	return c
}

func (c *crowd) switched(open bool) {
	at := int64(0)
	if open {
		at = time.Now().UnixNano()
	}
	c.openAt.Store(at)
}

// wasAsked gives a busy machine some time between a call's end and the report of it; the first probe comes later still.
func (c *crowd) wasAsked(took time.Duration, _ error) {
	const slack = 250 * time.Millisecond
	if at := c.openAt.Load(); at != 0 && time.Now().Add(-took-slack).UnixNano() > at {
		c.asked.Add(1)
	}
}

func (c *crowd) ask(t *testing.T, id string) {
	t.Helper()
	d := c.limiter.Decide(t.Context(), ratelimit.Ask{Budget: "user", Group: "acme", ID: id, Cost: 1})
	c.made.Add(1)
	switch {
	case d.Outcome == ratelimit.Denied:
		c.denied.Add(1)
	case d.Outcome == ratelimit.Allowed && d.Results[0].Degraded:
		c.uncounted.Add(1)
	}
}

// run asks for the span, for another key each millisecond; what the machine was too busy for is made up for. It returns
// when all are answered.
func (c *crowd) run(t *testing.T, name string, span time.Duration) {
	t.Helper()
	var calls sync.WaitGroup
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began, most := time.Now(), int(span/time.Millisecond)
	for sent := 0; sent < most; <-tick.C {
		for due := min(most, int(time.Since(began)/time.Millisecond)); sent < due; sent++ {
			id := fmt.Sprint(name, sent)
			calls.Go(func() { c.ask(t, id) })
		}
		c.connections = max(c.connections, c.proxy.Open())
	}
	calls.Wait()
}

// TestThousandASecondThroughOutages has Redis paused, then black-holed, then refusing under a thousand calls a second.
// Only the calls that began before the breaker opened wait, and a probe now and then; nothing grows; nobody is refused
// whom no store refused; and budgets apply again once Redis is back.
func TestThousandASecondThroughOutages(t *testing.T) {
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	c := newCrowd(t, impatient(t, proxy.URL), proxy)
	c.run(t, "before", 100*time.Millisecond)
	goroutines, calls, began := runtime.NumGoroutine(), c.made.Load(), time.Now()
	for _, o := range []struct {
		name  string
		begin func()
	}{
		{"paused", server.Pause},
		{"black-holed", func() { proxy.Set(redistest.BlackHole); server.Resume() }},
		{"refusing", func() { proxy.Set(redistest.Reset); proxy.ResetAll() }},
	} {
		o.begin()
		c.run(t, o.name, outageSpan/3)
		if n := runtime.NumGoroutine(); n > goroutines+4*poolSize {
			t.Errorf("%s: %d goroutines, there were %d", o.name, n, goroutines)
		}
	}
	lasted := time.Since(began)
	proxy.Set(redistest.Pass)
	if made := c.made.Load() - calls; c.denied.Load() > 0 || c.uncounted.Load() < made*9/10 {
		t.Errorf("of %d calls %d were refused, which no store said, and %d let through uncounted", made, c.denied.Load(), c.uncounted.Load())
	}
	const probeEvery = 500 * time.Millisecond
	if asked, most := c.asked.Load(), int64(lasted/probeEvery)+2; asked > most {
		t.Errorf("%d calls waited for Redis though it was known to fail, want at most the %d probes of %v", asked, most, lasted)
	}
	if c.connections > poolSize {
		t.Errorf("up to %d connections, want at most %d", c.connections, poolSize)
	}
	c.spendAgain(t)
}

// spendAgain spends one key after another, until one whose calls were all counted: of it exactly the limit is admitted.
func (c *crowd) spendAgain(t *testing.T) {
	t.Helper()
	attempt := 0
	eventually(t, "be counted again", func() error {
		attempt++
		denied, uncounted := c.denied.Load(), c.uncounted.Load()
		for range 2 * perHour.N {
			c.ask(t, fmt.Sprint("afterwards", attempt))
		}
		if c.uncounted.Load() > uncounted {
			return errors.New("it still fails open")
		}
		if got := c.denied.Load() - denied; got != perHour.N {
			t.Errorf("%d of %d were refused once Redis was back, want half", got, 2*perHour.N)
		}
		return nil
	})
}

// TestClocksOfProcesses has two processes whose clocks are 20 s apart share a limit: time is Redis's, so together they
// admit it once, and say the same of when there is more.
func TestClocksOfProcesses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var limiters []*ratelimit.Limiter
	for _, skew := range []time.Duration{-10 * time.Second, 10 * time.Second} {
		l, err := ratelimit.New(ratelimit.Config{
			Budgets: []ratelimit.Budget{{Name: "user", Limit: perHour, Store: "redis", OnFailure: ratelimit.Closed, Enforce: true, MaxCost: 1}},
			Stores:  map[string]ratelimit.Store{"redis": newStore(t, server.URL)}, Timeout: time.Minute,
			Now: func() time.Time { return time.Now().Add(skew) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		limiters = append(limiters, l)
	}
	ask := ratelimit.Ask{Budget: "user", Group: "acme", ID: "skewed", Cost: 1}
	for i := range perHour.N {
		if d := limiters[i%2].Decide(t.Context(), ask); d.Outcome != ratelimit.Allowed {
			t.Fatalf("call %d: %+v", i+1, d)
		}
	}
	began := time.Now()
	first, second := limiters[0].Decide(t.Context(), ask), limiters[1].Decide(t.Context(), ask)
	before, denied := first.RetryAfter()
	after, deniedToo := second.RetryAfter()
	if apart := before - after; !denied || !deniedToo || apart < 0 || apart > time.Since(began) || before > perHour.Window {
		t.Errorf("the processes say to wait %v and %v", before, after)
	}
}
