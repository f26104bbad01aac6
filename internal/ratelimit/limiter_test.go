package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

// A faultyStore is a memory store behind a switch: it can fail, hang, or fault single keys. It hides that it is in this
// process.
type faultyStore struct {
	inner *memory.Store

	mu       sync.Mutex
	err      error
	hang     bool
	faultKey string // The Budget of keys whose stored value is of a wrong shape.
	calls    int
	returns  int
	inFlight int
	most     int
}

var errDown = errors.New("connection refused")

func newFaultyStore(tb testing.TB) *faultyStore {
	tb.Helper()
	s := &faultyStore{inner: memory.New(memory.Config{})}
	tb.Cleanup(s.inner.Close)
	return s
}

func (s *faultyStore) set(change func(*faultyStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *faultyStore) enter(ctx context.Context) error {
	s.mu.Lock()
	s.calls++
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	err, hang := s.err, s.hang
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
	}
	if err == nil {
		err = ctx.Err() // As a store does that minds its callers.
	}
	s.mu.Lock()
	s.inFlight--
	s.mu.Unlock()
	return err
}

func (s *faultyStore) Take(ctx context.Context, charges []ratelimit.Charge) ([]ratelimit.Verdict, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var sound []ratelimit.Charge
	for _, c := range charges {
		if c.Key.Budget != s.faultKey {
			sound = append(sound, c)
		}
	}
	verdicts, err := s.inner.Take(ctx, sound)
	if err != nil || len(sound) == len(charges) {
		return verdicts, err
	}
	var all []ratelimit.Verdict
	for _, c := range charges {
		if c.Key.Budget == s.faultKey {
			all = append(all, ratelimit.Verdict{Err: errors.New("stored value is a string")})
			continue
		}
		all, verdicts = append(all, verdicts[0]), verdicts[1:]
	}
	return all, nil
}

func (s *faultyStore) Reset(ctx context.Context, keys ...ratelimit.Key) error {
	return s.inner.Reset(ctx, keys...)
}

func (s *faultyStore) GiveBack(ctx context.Context, returns []ratelimit.Return) ([]int64, error) {
	s.set(func(s *faultyStore) { s.returns++ })
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.inner.GiveBack(ctx, returns)
}

func (s *faultyStore) asked() (calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// A journal keeps what the hooks report.
type journal struct {
	mu     sync.Mutex
	began  []ratelimit.Outage
	ended  []ratelimit.Outage
	faults []error
	counts map[string]int64
	events []bool // The breaker's, in order.
}

func newJournal() *journal { return &journal{counts: map[string]int64{}} }

func (j *journal) add(name string, n int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[name] += n
}

func (j *journal) count(name string) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts[name]
}

func (j *journal) hooks() ratelimit.Hooks {
	return ratelimit.Hooks{
		Budget: func(b *ratelimit.Budget) ratelimit.BudgetHooks {
			one := func(what string) func() {
				name := b.Name + " " + what
				return func() { j.add(name, 1) }
			}
			return ratelimit.BudgetHooks{
				Allowed: one("allowed"), Denied: one("denied"), WouldDeny: one("would deny"),
				FailedOpen: one("failed open"), CountedLocally: one("local"), FailedClosed: one("closed"),
				GivenBack: func(n int64) { j.add(b.Name+" given back", n) },
			}
		},
		Store: func(name string) ratelimit.StoreHooks {
			return ratelimit.StoreHooks{
				Asked: func(_ time.Duration, err error) {
					if err != nil {
						j.add(name+" errors", 1)
					}
				},
				Breaker: func(open bool) {
					j.mu.Lock()
					defer j.mu.Unlock()
					j.events = append(j.events, open)
				},
			}
		},
		OutageBegan: func(o ratelimit.Outage) { j.mu.Lock(); j.began = append(j.began, o); j.mu.Unlock() },
		OutageEnded: func(o ratelimit.Outage) { j.mu.Lock(); j.ended = append(j.ended, o); j.mu.Unlock() },
		KeyFault: func(b *ratelimit.Budget, key ratelimit.Key, err error) {
			j.mu.Lock()
			j.faults = append(j.faults, fmt.Errorf("%s of %s: %w", b.Name, key.ID, err))
			j.mu.Unlock()
		},
	}
}

func perMinute(n int64) ratelimit.Limit {
	return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: n, Window: time.Minute}
}

// table is one budget of each mode, and a shadow, an unlimited one and one of another store.
func table() []ratelimit.Budget {
	return []ratelimit.Budget{
		{Name: "open", Limit: perMinute(10), Store: "shared", OnFailure: ratelimit.Open, Enforce: true},
		{Name: "local", Limit: perMinute(3), Store: "shared", OnFailure: ratelimit.Local, Enforce: true},
		{Name: "closed", Limit: perMinute(10), Store: "shared", OnFailure: ratelimit.Closed, Enforce: true},
		{Name: "shadow", Limit: perMinute(2), Store: "shared", OnFailure: ratelimit.Closed},
		{Name: "unlimited", Limit: perMinute(1), Store: "shared", OnFailure: ratelimit.Open, Enforce: true, Unlimited: true},
		{Name: "edge", Limit: perMinute(100), Store: "memory", OnFailure: ratelimit.Local, Enforce: true},
	}
}

type testBundle struct {
	*ratelimit.Limiter

	store   *faultyStore
	journal *journal
}

func setup(tb testing.TB, change ...func(*ratelimit.Config)) *testBundle {
	tb.Helper()
	b := &testBundle{store: newFaultyStore(tb), journal: newJournal()}
	inside, local := memory.New(memory.Config{}), memory.New(memory.Config{})
	tb.Cleanup(inside.Close)
	tb.Cleanup(local.Close)
	config := ratelimit.Config{
		Budgets: table(),
		Stores:  map[string]ratelimit.Store{"shared": b.store, "memory": inside},
		Local:   local,
		Hooks:   b.journal.hooks(),
	}
	for _, f := range change {
		f(&config)
	}
	var err error
	if b.Limiter, err = ratelimit.New(config); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return b
}

func ask(budget string, cost int64) ratelimit.Ask {
	return ratelimit.Ask{Budget: budget, Group: "acme", ID: "alice", Cost: cost}
}

func asks(budgets ...string) (all []ratelimit.Ask) {
	for _, name := range budgets {
		all = append(all, ask(name, 1))
	}
	return all
}

// TestDecide holds the outcome and the results of decisions of a sound store.
func TestDecide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		spend   []ratelimit.Ask // Decided before.
		asks    []ratelimit.Ask
		outcome ratelimit.Outcome
		left    []int64 // The remaining units of each result.
		refused string  // The budgets that refuse, joined.
		retry   time.Duration
		never   bool // A denial without a time to retry.
	}{
		{name: "nothing asked", outcome: ratelimit.Allowed},
		{name: "results in the order of the asks", asks: asks("local", "open", "closed"), outcome: ratelimit.Allowed, left: []int64{2, 9, 9}},
		{
			name: "one refuses, none is spent", spend: []ratelimit.Ask{ask("local", 3)}, asks: asks("open", "local", "closed"),
			outcome: ratelimit.Denied, left: []int64{10, 0, 10}, refused: "local", retry: time.Minute,
		},
		{
			name: "a shadow never refuses", spend: []ratelimit.Ask{ask("shadow", 2)}, asks: asks("shadow", "open"),
			outcome: ratelimit.Allowed, left: []int64{0, 9},
		},
		{
			name: "an unlimited one counts nothing", spend: asks("unlimited"), asks: asks("unlimited", "open"),
			outcome: ratelimit.Allowed, left: []int64{1, 9},
		},
		{
			name: "a cost above the limit never fits", asks: []ratelimit.Ask{ask("open", 11), ask("local", 1)},
			outcome: ratelimit.Denied, left: []int64{10, 3}, refused: "open", never: true,
		},
		{name: "a look", spend: []ratelimit.Ask{ask("local", 3)}, asks: []ratelimit.Ask{ask("local", 0)}, outcome: ratelimit.Allowed, left: []int64{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for _, a := range tt.spend {
				if d := l.Decide(t.Context(), a); d.Outcome != ratelimit.Allowed {
					t.Fatalf("spending %+v: %+v", a, d)
				}
			}
			d := l.Decide(t.Context(), tt.asks...)
			if d.Outcome != tt.outcome || d.Err != nil {
				t.Fatalf("got %v, %v, want %v", d.Outcome, d.Err, tt.outcome)
			}
			checkResults(t, d, tt.asks, tt.left, tt.refused)
			checkRetry(t, d, tt.retry, tt.never)
		})
	}
}

func checkResults(t *testing.T, d ratelimit.Decision, asks []ratelimit.Ask, left []int64, refused string) {
	t.Helper()
	if len(d.Results) != len(asks) {
		t.Fatalf("%d results to %d asks", len(d.Results), len(asks))
	}
	var refusing []string
	for i, r := range d.Results {
		if r.Budget.Name != asks[i].Budget || r.Verdict.Remaining != left[i] || r.Degraded || r.Source != ratelimit.SourceTable {
			t.Errorf("result %d: %+v, want %d left of %s", i, r, left[i], asks[i].Budget)
		}
		if r.Refused() {
			refusing = append(refusing, r.Budget.Name)
		}
	}
	if got := strings.Join(refusing, " "); got != refused {
		t.Errorf("refused by %q, want %q", got, refused)
	}
}

func checkRetry(t *testing.T, d ratelimit.Decision, want time.Duration, never bool) {
	t.Helper()
	got, ok := d.RetryAfter()
	if ok != (d.Outcome == ratelimit.Denied && !never) || got > want || got < want-time.Second {
		t.Errorf("retry after %v, %v, want %v", got, ok, want)
	}
}

// TestRetryAfterIsTheLongest refuses by two budgets, one of them longer.
func TestRetryAfterIsTheLongest(t *testing.T) {
	t.Parallel()
	d := ratelimit.Decision{Outcome: ratelimit.Denied, Results: []ratelimit.Result{
		{Enforced: true, Verdict: ratelimit.Verdict{Retry: 3 * time.Second}},
		{Enforced: true, Verdict: ratelimit.Verdict{Retry: 17 * time.Second}},
		{Enforced: true, Verdict: ratelimit.Verdict{OK: true, Next: 40 * time.Second}},
		{Enforced: false, Verdict: ratelimit.Verdict{Retry: 50 * time.Second}},
	}}
	if got, ok := d.RetryAfter(); !ok || got != 17*time.Second {
		t.Errorf("got %v, %v", got, ok)
	}
}

func TestFaultyAsks(t *testing.T) {
	t.Parallel()
	tests := map[string][]ratelimit.Ask{
		"an unknown budget":       asks("open", "nothing"),
		"a negative cost":         {ask("open", 1), ask("local", -5)},
		"one key twice":           asks("open", "open"),
		"budgets of two stores":   asks("open", "edge"),
		"a negative cost, inside": {ask("edge", -1)},
	}
	for name, faulty := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			d := l.Decide(t.Context(), faulty...)
			if d.Outcome != ratelimit.Unavailable || !errors.Is(d.Err, ratelimit.ErrAsk) || len(d.Results) != 0 {
				t.Errorf("got %+v", d)
			}
			if d := l.Look(t.Context(), ask("open", 0)); d.Results[0].Verdict.Remaining != 10 {
				t.Errorf("something was charged: %+v", d)
			}
		})
	}
}

func TestLookChargesAndCountsNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for range 20 {
		if d := l.Look(t.Context(), asks("open", "shadow")...); d.Outcome != ratelimit.Allowed || d.Results[0].Verdict.Remaining != 10 {
			t.Fatalf("%+v", d)
		}
	}
	if len(l.journal.counts) != 0 {
		t.Errorf("counted %v", l.journal.counts)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for range 5 {
		l.Decide(t.Context(), asks("local", "shadow", "open")...)
	}
	want := map[string]int64{"local allowed": 3, "local denied": 2, "open allowed": 5, "shadow would deny": 3}
	for name, n := range want {
		if got := l.journal.count(name); got != n {
			t.Errorf("%s: %d, want %d", name, got, n)
		}
	}
	if len(l.journal.counts) != len(want) {
		t.Errorf("counted %v", l.journal.counts)
	}
}

// teamHas gives the plan "team" so many.
func teamHas(n int64) func(context.Context, *ratelimit.Budget, ratelimit.Subject) ratelimit.Setting {
	return func(_ context.Context, b *ratelimit.Budget, s ratelimit.Subject) ratelimit.Setting {
		setting := b.Setting()
		if s.Plan == "team" {
			setting.Limit.N, setting.Source = n, "plan"
		}
		return setting
	}
}

// TestOverrides resolves other numbers by subject, and changes them without losing the history.
func TestOverrides(t *testing.T) {
	t.Parallel()
	limit := perMinute(5)
	l := setup(t, func(c *ratelimit.Config) {
		c.Resolve = func(_ context.Context, b *ratelimit.Budget, s ratelimit.Subject) ratelimit.Setting {
			if s.Plan != "team" {
				return b.Setting()
			}
			return ratelimit.Setting{Limit: limit, Enforce: true, Source: "plan"}
		}
	})
	team := ask("local", 4)
	team.Subject.Plan = "team"
	if d := l.Decide(t.Context(), team); d.Outcome != ratelimit.Allowed || d.Results[0].Verdict.Remaining != 1 || d.Results[0].Source != "plan" {
		t.Errorf("team: %+v", d)
	}
	for _, change := range []struct{ n, left int64 }{{2, 0}, {8, 4}} {
		limit = perMinute(change.n)
		if d := l.Look(t.Context(), team); d.Results[0].Verdict.Remaining != change.left || d.Results[0].Limit.N != change.n {
			t.Errorf("limit %d: %+v", change.n, d)
		}
	}
	if d := l.Decide(t.Context(), ask("local", 4)); d.Outcome != ratelimit.Denied {
		t.Errorf("the table's 3: %+v", d)
	}
}

func TestGiveBack(t *testing.T) {
	t.Parallel()
	l := setup(t)
	left := func() (n []int64) {
		for _, r := range l.Look(t.Context(), asks("open", "local")...).Results {
			n = append(n, r.Verdict.Remaining)
		}
		return n
	}
	first := l.Decide(t.Context(), asks("open", "local")...)
	second := l.Decide(t.Context(), asks("open", "local")...)
	l.GiveBack(t.Context(), first, "local")
	l.GiveBack(t.Context(), first, "local", "closed")
	if got := left(); got[0] != 8 || got[1] != 2 {
		t.Errorf("one budget, twice: %v left", got)
	}
	l.GiveBack(t.Context(), first)
	l.GiveBack(t.Context(), second)
	l.GiveBack(t.Context(), second)
	if got := left(); got[0] != 10 || got[1] != 3 {
		t.Errorf("everything: %v left", got)
	}
	l.Decide(t.Context(), ask("local", 3))
	denied := l.Decide(t.Context(), asks("open", "local")...)
	returns := l.store.returns
	l.GiveBack(t.Context(), denied)
	if l.store.returns != returns {
		t.Error("a denied decision was given back")
	}
	if got := l.journal.count("open given back"); got != 2 {
		t.Errorf("%d given back by the count", got)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	tests := []struct{ used, left int64 }{{0, 10}, {3, 7}, {8, 2}, {9, 2}, {-1, 10}}
	for _, tt := range tests {
		l := setup(t)
		d := l.Decide(t.Context(), ask("open", 8))
		l.Settle(t.Context(), d, "open", tt.used)
		l.Settle(t.Context(), d, "open", 0)
		l.Settle(t.Context(), d, "closed", 0)
		if got := l.Look(t.Context(), ask("open", 0)).Results[0].Verdict.Remaining; got != tt.left {
			t.Errorf("used %d of 8: %d left, want %d", tt.used, got, tt.left)
		}
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	l := setup(t)
	tests := []struct {
		budgets []string
		fault   string
	}{
		{nil, ""},
		{[]string{"open", "local", "shadow"}, ""},
		{[]string{"open", "nothing"}, `"nothing" is not in the table`},
		{[]string{"open", "local", "open"}, `"open" is charged twice`},
		{[]string{"open", "edge"}, "counted in shared and memory"},
	}
	for _, tt := range tests {
		err := l.Together(tt.budgets...)
		if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%v: got %v, want %q", tt.budgets, err, tt.fault)
		}
	}
}

func TestDecideIntoAllocatesNothing(t *testing.T) {
	l := setup(t)
	a := []ratelimit.Ask{ask("edge", 1)}
	var d ratelimit.Decision
	call := func() { l.DecideInto(context.Background(), &d, a...) }
	for range 200 {
		call()
	}
	if allocs := testing.AllocsPerRun(1000, call); allocs != 0 && !raceDetector {
		t.Errorf("%v allocations a decision", allocs)
	}
}

// TestTableHash differs with each thing that a row says, and with what else is named.
func TestTableHash(t *testing.T) {
	t.Parallel()
	changes := []func(*ratelimit.Budget){
		func(*ratelimit.Budget) {},
		func(b *ratelimit.Budget) { b.Name = "other" },
		func(b *ratelimit.Budget) { b.Limit.N++ },
		func(b *ratelimit.Budget) { b.Limit.Window *= 2 },
		func(b *ratelimit.Budget) { b.Limit.Algorithm = ratelimit.FixedWindow },
		func(b *ratelimit.Budget) {
			b.Limit = ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 10, Refill: 1}
		},
		func(b *ratelimit.Budget) { b.Store = "memory" },
		func(b *ratelimit.Budget) { b.OnFailure = ratelimit.Closed },
		func(b *ratelimit.Budget) { b.Enforce = false },
		func(b *ratelimit.Budget) { b.Unlimited = true },
	}
	seen := map[string]int{}
	for i, change := range changes {
		l := setup(t, func(c *ratelimit.Config) { change(&c.Budgets[0]) })
		if j, ok := seen[l.TableHash()]; ok {
			t.Errorf("changes %d and %d have one hash", i, j)
		}
		seen[l.TableHash()] = i
	}
	l := setup(t)
	if a, b := l.TableHash("10.0.0.0/8"), l.TableHash("10.0.0.0/9"); a == b || seen[l.TableHash()] != 0 {
		t.Errorf("hashes %s and %s, and %s alone", a, b, l.TableHash())
	}
}
