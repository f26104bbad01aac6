package redis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/slidinglog"
)

// TestLogEqualsOracle runs random calls over several budgets against Redis and against the readable log, on one
// injected clock, and compares them call by call.
func TestLogEqualsOracle(t *testing.T) {
	t.Parallel()
	store := newStore(t, redistest.Start(t).URL)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		newComparison(rt, store, fmt.Sprint(run)).steps(rt)
	})
}

// A comparison is one sequence of calls.
type comparison struct {
	store   *Store
	group   string
	now     time.Time
	budgets []budget
	made    []made
}

type budget struct {
	limit  ratelimit.Limit
	oracle *slidinglog.Log
}

// made is a recorded charge that may be given back.
type made struct {
	budget  int
	receipt ratelimit.Receipt
	ticket  slidinglog.Ticket
}

func newComparison(rt *rapid.T, store *Store, group string) *comparison {
	c := &comparison{store: store, group: group, now: time.Unix(1_700_000_000, 0)}
	store.clock = func() time.Time { return c.now }
	for range rapid.IntRange(1, 4).Draw(rt, "budgets") {
		window := time.Duration(rapid.IntRange(10_000, 100_000_000).Draw(rt, "window µs")) * time.Microsecond
		c.budgets = append(c.budgets, budget{
			limit:  ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: rapid.Int64Range(0, 12).Draw(rt, "limit"), Window: window},
			oracle: slidinglog.New(window),
		})
	}
	return c
}

func (c *comparison) steps(rt *rapid.T) {
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		c.advance(rt)
		switch rapid.IntRange(0, 9).Draw(rt, "kind") {
		case 0:
			b := &c.budgets[rapid.IntRange(0, len(c.budgets)-1).Draw(rt, "budget")]
			b.limit.N = rapid.Int64Range(0, 12).Draw(rt, "new limit")
		case 1:
			c.giveBack(rt)
		default:
			c.take(rt)
		}
	}
}

// advance often stands still, and often lands on the very instant at which a unit leaves.
func (c *comparison) advance(rt *rapid.T) {
	window := c.budgets[rapid.IntRange(0, len(c.budgets)-1).Draw(rt, "clock of")].limit.Window
	step := rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Just(window), rapid.Just(window-time.Microsecond),
		rapid.Map(rapid.IntRange(0, 100_000_000), func(us int) time.Duration { return time.Duration(us) * time.Microsecond })).Draw(rt, "step")
	c.now = c.now.Add(step)
}

func (c *comparison) take(rt *rapid.T) {
	order := rapid.Permutation(indices(len(c.budgets))).Draw(rt, "order")
	order = order[:rapid.IntRange(1, len(order)).Draw(rt, "charges")]
	charges := make([]ratelimit.Charge, len(order))
	for i, b := range order {
		charges[i] = ratelimit.Charge{
			Key: c.key(b), Limit: c.budgets[b].limit,
			Cost:   rapid.Int64Range(0, c.budgets[b].limit.N+1).Draw(rt, "cost"),
			Shadow: rapid.IntRange(0, 3).Draw(rt, "shadow") == 0,
		}
	}
	got, err := c.store.Take(rt.Context(), charges)
	if err != nil {
		rt.Fatal(err)
	}
	c.compare(rt, order, charges, got)
}

func (c *comparison) compare(rt *rapid.T, order []int, charges []ratelimit.Charge, got []ratelimit.Verdict) {
	now := c.since()
	fits := true
	for i, b := range order {
		look := c.budgets[b].oracle.Look(now, charges[i].Limit.N, charges[i].Cost)
		fits = fits && (look.OK || charges[i].Shadow)
	}
	for i, b := range order {
		want := c.budgets[b].oracle.Look(now, charges[i].Limit.N, charges[i].Cost)
		var ticket slidinglog.Ticket
		if fits && want.OK {
			want, ticket = c.budgets[b].oracle.Take(now, charges[i].Limit.N, charges[i].Cost)
		}
		g := got[i]
		if g.Err != nil || g.OK != want.OK || g.Remaining != want.Remaining || g.Next != want.Next || g.Retry != want.Retry {
			rt.Fatalf("charge %d of %+v: got %+v, want %+v", i, charges, g, want)
		}
		if recorded := ticket != 0; recorded != (g.Receipt.ID != 0) {
			rt.Fatalf("charge %d: receipt %+v, recorded %v", i, g.Receipt, recorded)
		}
		if ticket != 0 {
			c.made = append(c.made, made{b, g.Receipt, ticket})
		}
	}
}

// giveBack returns a charge, or some of its units. A receipt is sent once, as the limiter does: on a clock that stands
// still, which Redis's does not, another charge may have its name afterwards.
func (c *comparison) giveBack(rt *rapid.T) {
	if len(c.made) == 0 {
		return
	}
	i := rapid.IntRange(0, len(c.made)-1).Draw(rt, "return")
	m := c.made[i]
	c.made = slices.Delete(c.made, i, i+1)
	units := rapid.Int64Range(1, m.receipt.Cost+1).Draw(rt, "units")
	got, err := c.store.GiveBack(rt.Context(), []ratelimit.Return{
		{Key: c.key(m.budget), Limit: c.budgets[m.budget].limit, Receipt: m.receipt, Units: units},
	})
	if err != nil {
		rt.Fatal(err)
	}
	want := c.budgets[m.budget].oracle.GiveBack(c.since(), m.ticket, units)
	if got[0] != want {
		rt.Fatalf("gave back %d of %+v, want %d", got[0], m, want)
	}
}

func (c *comparison) key(b int) ratelimit.Key {
	return ratelimit.Key{Budget: fmt.Sprint("budget", b), Group: c.group, ID: "someone"}
}

func (c *comparison) since() time.Duration { return c.now.Sub(time.Unix(1_600_000_000, 0)) }

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// newStore is a store that waits long enough for a machine that is busy with other tests.
func newStore(t testing.TB, url string) *Store {
	t.Helper()
	s, err := New(Config{URL: url, Secret: []byte("a secret of enough bytes"), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
