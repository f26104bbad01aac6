package mobileclient

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
)

var full = flag.Bool("full", false, "simulate at full size, as make simulate does: 50 seeds of 20 minutes")

// size is how many seeds are run, each for how many minutes. The smaller one, which every test run has, holds each
// combination of circumstances once.
func size() (seeds uint64, minutes int) {
	if *full {
		return 50, 20
	}
	return 8, 6
}

// A network is a transport whose legs take as long as chance has it: most are quick, some take seconds, so that requests
// overtake each other. Behind it is the server's own engine, with the table's budgets.
type network struct {
	store *memory.Store
	// stretch multiplies delays; 0 makes every leg 50 ms and nothing else happen.
	stretch float64
	// breaks is how likely a connection breaks under a request, and pauses how likely the server pauses before it.
	breaks, pauses float64
	// limits are by budget, and charges by route: what the server charges behind the edge, and a limit of each endpoint.
	limits  map[string]ratelimit.Limit
	charges map[string][]string

	mu      sync.Mutex
	known   bool           // The server knows the credential.
	refused map[string]int // By budget.
	served  int
	denied  int
	// lastSkip is the newest ticket of a call that skipped the limit: what was on its way then may be refused in its place.
	// excused counts those, and the refusals of skipping calls themselves.
	lastSkip uint64
	excused  int

	// The mutants: what the client would do wrong.
	heldFromSend    bool
	skipsUncounted  bool
	replays         bool // net/http is left to send again by itself
	replayUncounted bool // and nobody looks.
}

// slowClock is the least rate of the server's clock, against the client's, that the default guard allows for.
const slowClock = 1 / 1.0099

// The longest legs. What the client gave up on must arrive within its late grace.
const (
	longestLeg   = 9 * time.Second
	longestPause = 8 * time.Second
	giveUpAfter  = 8 * time.Second
)

func newNetwork(rate float64) *network {
	began := time.Now()
	clock := func() time.Duration { return time.Duration(float64(time.Since(began)) * rate) }
	n := &network{store: memory.New(memory.Config{Clock: clock, Keys: 1000}), stretch: 1, breaks: 0.02, pauses: 0.005, refused: map[string]int{}}
	n.limits = map[string]ratelimit.Limit{}
	for _, b := range api.Budgets() {
		n.limits[b.Name] = ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: b.Limit, Window: b.Window}
		switch b.Algorithm { //nolint:exhaustive // Sliding is the default above, and nothing is Fixed.
		case api.Bucket:
			n.limits[b.Name] = ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: b.Limit, Refill: b.Refill}
		case api.Segments: // A request costs it one here, so that it is far from refusing: the mirror does not count it.
			n.limits[b.Name] = ratelimit.Limit{Algorithm: ratelimit.Segments, N: b.Limit, Window: b.Window}
		}
	}
	n.charges = map[string][]string{}
	for _, r := range api.Routes() {
		endpoint := EndpointBudget + " " + r.Path
		n.limits[endpoint] = ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: EndpointLimit, Window: EndpointWindow}
		n.charges[r.ID] = append(r.Charges(), endpoint)
	}
	return n
}

type chanceKey struct{}

// RoundTrip carries one request. The chance comes with the request's context, so that each worker has its own.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	chance := r.Context().Value(chanceKey{}).(*rand.Rand)
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn(r.URL.Host)
	if n.happens(chance, 0.01) {
		return nil, errors.New("no connection")
	}
	n.leave(r, trace)
	if n.happens(chance, n.breaks) {
		n.breakOff(r, chance)
		if !n.replays && !replayable(r) {
			return nil, errors.New("connection broke")
		}
		if !n.replayUncounted {
			n.leave(r, trace)
		}
	}
	return n.carry(r, chance)
}

// breakOff loses the connection of a request that is on its way: it arrives, and its answer goes nowhere.
func (n *network) breakOff(r *http.Request, chance *rand.Rand) {
	leg := n.leg(chance)
	go func() {
		time.Sleep(leg)
		n.decide(r)
	}()
}

// replayable is net/http's rule for what it sends again by itself.
func replayable(r *http.Request) bool {
	idempotent := r.Method == http.MethodGet || r.Header.Get(api.HeaderIdempotencyKey) != ""
	return idempotent && (r.Body == nil || r.Body == http.NoBody || r.GetBody != nil)
}

func (n *network) leave(r *http.Request, trace *httptrace.ClientTrace) {
	trace.GotConn(httptrace.GotConnInfo{})
	trace.WroteHeaders()
	ticket := ticketOf(r.Context())
	if n.heldFromSend {
		ticket.answered(&http.Response{StatusCode: http.StatusOK, Header: http.Header{}})
	}
	if !ticket.call.settings.skipRateLimit {
		return
	}
	n.mu.Lock()
	n.lastSkip = max(n.lastSkip, ticket.seq)
	n.mu.Unlock()
	if n.skipsUncounted {
		ticket.m.mu.Lock()
		ticket.giveBack()
		ticket.m.mu.Unlock()
	}
}

// carry brings the request to the server and the answer back, unless the client gives up meanwhile: then the request
// still arrives.
func (n *network) carry(r *http.Request, chance *rand.Rand) (*http.Response, error) {
	out, back := n.leg(chance), n.leg(chance)
	if n.happens(chance, n.pauses) {
		out += time.Duration(chance.Int64N(int64(longestPause)))
	}
	answers := make(chan *http.Response, 1)
	go func() {
		time.Sleep(out)
		answer := n.decide(r)
		time.Sleep(back)
		answers <- answer
	}()
	select {
	case answer := <-answers:
		return answer, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (n *network) happens(chance *rand.Rand, probability float64) bool {
	return n.stretch > 0 && chance.Float64() < probability
}

func (n *network) leg(chance *rand.Rand) time.Duration {
	if n.stretch == 0 {
		return 50 * time.Millisecond
	}
	leg := 20*time.Millisecond + time.Duration(chance.ExpFloat64()*n.stretch*float64(20*time.Millisecond))
	if chance.Float64() < 0.2 {
		leg = time.Duration(chance.Float64() * chance.Float64() * float64(longestLeg))
	}
	return min(leg, longestLeg)
}

// decide is the server: the edge first, the others in one decision behind it.
func (n *network) decide(r *http.Request) *http.Response {
	n.mu.Lock()
	defer n.mu.Unlock()
	ticket := ticketOf(r.Context())
	said := &quotas{header: http.Header{"Content-Type": {"application/json"}}}
	before := maps.Clone(n.refused)
	if !n.judge(said, ticket.call.route) {
		if ticket.call.settings.skipRateLimit || n.lastSkip > ticket.seq {
			n.refused, n.excused = before, n.excused+1
		}
		return said.answer(http.StatusTooManyRequests, `{"code":"RATE_LIMIT_EXCEEDED"}`)
	}
	return said.answer(http.StatusOK, "{}")
}

// judge decides all that a request of the route is charged; said may be nil. The caller has the lock.
func (n *network) judge(said *quotas, route api.Route) (ok bool) {
	if ok = n.edge(said) && n.take(said, n.charges[route.ID]...); ok {
		n.served++
	} else {
		n.denied++
	}
	return ok
}

// quotas are the headers of an answer in the making.
type quotas struct {
	policies []api.Policy
	services []api.Service
	retry    time.Duration
	header   http.Header
}

func (q *quotas) add(name string, l ratelimit.Limit, v ratelimit.Verdict) {
	if q == nil {
		return
	}
	q.policies = append(q.policies, api.Policy{Name: name, Quota: l.N, Window: l.Span()})
	q.services = append(q.services, api.Service{Name: name, Remaining: v.Remaining, Reset: v.Next, HasReset: v.Next > 0})
	q.retry = max(q.retry, v.Retry)
}

func (q *quotas) answer(status int, body string) *http.Response {
	q.header.Set(api.HeaderRateLimitPolicy, api.FormatPolicies(q.policies))
	q.header.Set(api.HeaderRateLimit, api.FormatServices(q.services))
	if status == http.StatusTooManyRequests {
		q.header.Set(api.HeaderRetryAfter, api.RetryAfterValue(q.retry))
	}
	return &http.Response{StatusCode: status, Header: q.header, Body: io.NopCloser(strings.NewReader(body))}
}

// edge charges a stranger's address, and moves the charge once it is known who calls.
func (n *network) edge(said *quotas) bool {
	if n.known {
		return n.take(said, api.BudgetEdgeCaller)
	}
	n.known = n.take(said, api.BudgetEdge) && n.take(said, api.BudgetEdgeCaller)
	return n.known
}

func (n *network) take(said *quotas, budgets ...string) bool {
	charges := make([]ratelimit.Charge, 0, len(budgets))
	for _, name := range budgets {
		charges = append(charges, ratelimit.Charge{Key: ratelimit.Key{Budget: name, ID: "alice"}, Limit: n.limits[name], Cost: 1})
	}
	verdicts, err := n.store.AppendTake(nil, charges)
	if err != nil {
		panic(err)
	}
	ok := true
	for i, v := range verdicts {
		said.add(budgets[i], charges[i].Limit, v)
		if !v.OK {
			ok = false
			n.refused[budgets[i]]++
		}
	}
	return ok
}

// seen is how often each budget refused, and how many requests were served.
func (n *network) seen() (refused map[string]int, served int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.refused), n.served
}

// The routes that the workers call, each with its weight.
var traffic = []struct {
	weight int
	route  string
}{
	// example:begin
	{8, api.RouteTasksList},
	{3, api.RouteTasksCreate},
	{2, api.RouteTasksParse},
	{1, api.RouteTasksExport},
	{1, api.RouteReportsCreate},
	// example:end
	{4, api.RouteMeGet},
}

// A load is one simulated run: workers that call as fast as the client lets them.
type load struct {
	seed    uint64
	minutes int
	workers int
	// one makes every call the same.
	one string
	// skips is how likely a call skips the limit.
	skips float64
}

// run returns what the workers saw. It must run in a bubble.
func (l load) run(t *testing.T, client *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(l.minutes)*time.Minute)
	defer cancel()
	var workers sync.WaitGroup
	for i := range l.workers {
		workers.Go(func() {
			chance := rand.New(rand.NewPCG(l.seed, uint64(i)))
			ctx := context.WithValue(ctx, chanceKey{}, chance)
			for ctx.Err() == nil {
				l.call(ctx, client, chance)
			}
		})
	}
	workers.Wait()
	time.Sleep(time.Minute) // For what is still on its way.
}

func (l load) call(ctx context.Context, client *Client, chance *rand.Rand) {
	id := l.one
	if id == "" {
		id = pick(chance)
	}
	var opts []CallOption
	if chance.Float64() < l.skips {
		opts = append(opts, SkipRateLimit())
	}
	_, err := fetch[struct{}](ctx, client, client.newCall(id, opts))
	var refusal *Error
	if errors.As(err, &refusal) && refusal.Local {
		sleep(ctx, refusal.Wait()+time.Duration(chance.Int64N(int64(3*time.Second))))
		return
	}
	sleep(ctx, time.Duration(chance.ExpFloat64()*float64(50*time.Millisecond)))
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func pick(chance *rand.Rand) string {
	total := 0
	for _, t := range traffic {
		total += t.weight
	}
	at := chance.IntN(total)
	for _, t := range traffic {
		if at -= t.weight; at < 0 {
			return t.route
		}
	}
	panic("unreachable")
}

func simulatedClient(t *testing.T, n *network, opts ...Option) *Client {
	t.Helper()
	opts = append([]Option{
		WithHTTPClient(&http.Client{Transport: n}), WithTokenSource(StaticToken("alice")), WithAttemptTimeout(giveUpAfter),
	}, opts...)
	client, err := New("http://server.example", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestTheServerNeverRefuses is the promise: whatever the network does, no request that the mirror lets pass is refused.
// Calls that skip the limit are recorded, so only they are refused, and what a skipping call overtook.
func TestTheServerNeverRefuses(t *testing.T) {
	t.Parallel()
	seeds, minutes := size()
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork([]float64{1, slowClock}[seed%2])
				defer n.store.Close()
				var opts []Option
				if seed/2%2 == 1 {
					opts = []Option{WithWait(2 * time.Minute)}
				}
				skips := []float64{0, 0.01}[seed/4%2]
				load{seed: seed, minutes: minutes, workers: 30, skips: skips}.run(t, simulatedClient(t, n, opts...))
				refused, served := n.seen()
				t.Logf("%d served, %d refused for want of the limit", served, n.excused)
				if len(refused) > 0 {
					t.Errorf("the server refused: %v (and served %d)", refused, served)
				}
				if served < 66*minutes || n.excused > served/10 || (n.lastSkip > 0) != (skips > 0) {
					t.Errorf("%d requests were served, %d skipped and were refused: the run shows little", served, n.excused)
				}
			})
		})
	}
}

// TestTheMirrorAtLength runs the mirror alone, without net/http around it, for 20 minutes each time.
func TestTheMirrorAtLength(t *testing.T) {
	t.Parallel()
	seeds, _ := size()
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork([]float64{1, slowClock}[seed%2])
				defer n.store.Close()
				bare{n: n, m: newMirror(defaultMirror()), contract: newCatalogue(), cred: &credential{identity: "alice"}}.run(t, seed)
				if refused, served := n.seen(); len(refused) > 0 || served < 1500 {
					t.Errorf("the server refused: %v (and served %d)", refused, served)
				}
			})
		})
	}
}

// A bare run has the workers take tickets themselves.
type bare struct {
	n        *network
	m        *mirror
	contract catalogue
	cred     *credential
}

func (b bare) run(t *testing.T, seed uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	var workers sync.WaitGroup
	for i := range 30 {
		workers.Go(func() {
			chance := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				b.request(ctx, b.contract[pick(chance)], chance)
			}
		})
	}
	workers.Wait()
	time.Sleep(time.Minute)
}

func (b bare) request(ctx context.Context, call call, chance *rand.Rand) {
	ticket, err := b.m.acquire(ctx, call, b.cred)
	if refusal, ok := errors.AsType[*Error](err); ok {
		sleep(ctx, refusal.Wait()+time.Duration(chance.Int64N(int64(20*time.Second))))
		return
	}
	if err != nil {
		return
	}
	_, _ = ticket.depart(ctx)
	switch at := chance.Float64(); {
	case at < 0.01:
		ticket.failed(true)
	case at < 0.03:
		ticket.noteConnected()
		leg := b.n.leg(chance)
		go func() { time.Sleep(leg); b.arrive(call) }()
		time.Sleep(time.Second)
		ticket.failed(true)
	default:
		ticket.noteConnected()
		time.Sleep(b.n.leg(chance))
		answer := b.arrive(call)
		time.Sleep(b.n.leg(chance))
		ticket.answered(answer)
	}
}

func (b bare) arrive(call call) *http.Response {
	b.n.mu.Lock()
	defer b.n.mu.Unlock()
	b.n.judge(nil, call.route)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
}

// TestOtherAlgorithmsNeverRefuse has servers that count as the mirror does not.
func TestOtherAlgorithmsNeverRefuse(t *testing.T) {
	t.Parallel()
	limits := map[string]struct {
		server ratelimit.Limit
		mirror time.Duration
	}{
		"token bucket": {ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 120, Refill: 2}, time.Minute},
		"fixed window": {ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: 120, Window: time.Minute}, time.Minute},
		"segments":     {ratelimit.Limit{Algorithm: ratelimit.Segments, N: 120, Window: time.Minute}, 61 * time.Second},
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(slowClock)
				defer n.store.Close()
				n.limits[api.BudgetUser] = limit.server
				n.limits[EndpointBudget+" /api/v1/me"] = ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 1000, Window: time.Minute}
				client := simulatedClient(t, n, WithBudget(api.BudgetUser, 120, limit.mirror), WithBudget(EndpointBudget, 1000, time.Minute))
				load{minutes: 10, workers: 30, one: api.RouteMeGet}.run(t, client)
				if refused, served := n.seen(); len(refused) > 0 || served < 900 {
					t.Errorf("the server refused: %v (and served %d)", refused, served)
				}
			})
		})
	}
}

// example:begin

// TestMutantsAreCaught shows that the simulation can fail: each mutant is refused by the server.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	mutants := map[string]struct {
		rate   float64
		one    string
		skips  float64
		opts   []Option
		mutate func(*network, *Client)
	}{
		"slots held from the send":           {rate: 1, mutate: func(n *network, _ *Client) { n.heldFromSend = true }},
		"half the guard under a slow server": {rate: slowClock, one: api.RouteTasksExport, opts: []Option{WithGuard(0.005)}, mutate: func(n *network, _ *Client) { n.stretch = 0 }},
		"per-endpoint budgets only": {rate: 1, mutate: func(_ *network, c *Client) {
			c.mirror.budgets = map[string]allowance{EndpointBudget: c.mirror.budgets[EndpointBudget]}
		}},
		"calls that skip uncounted":           {rate: 1, skips: 0.05, mutate: func(n *network, _ *Client) { n.skipsUncounted = true }},
		"replays unchecked":                   {rate: 1, mutate: func(n *network, _ *Client) { n.replays, n.breaks = true, 0.2 }},
		"replays uncounted":                   {rate: 1, mutate: func(n *network, _ *Client) { n.replays, n.replayUncounted = true, true }},
		"no grace for what was given up":      {rate: slowClock, one: api.RouteTasksExport, opts: []Option{WithLateGrace(0), WithAttemptTimeout(4 * time.Second)}, mutate: func(n *network, _ *Client) { n.pauses = 0.3 }},
		"a route's own budget is not checked": {rate: 1, one: api.RouteTasksCreate, mutate: func(_ *network, c *Client) { delete(c.mirror.budgets, "tasks.write") }},
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(8) {
				l := load{seed: seed, minutes: 6, workers: 30, one: mutant.one, skips: mutant.skips}
				if mutantRefused(t, l, mutant.rate, mutant.opts, mutant.mutate) {
					return
				}
			}
			t.Error("the server refused nothing: the simulation does not see this fault")
		})
	}
}

func mutantRefused(t *testing.T, l load, rate float64, opts []Option, mutate func(*network, *Client)) (refused bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(rate)
		defer n.store.Close()
		client := simulatedClient(t, n, opts...)
		mutate(n, client)
		l.run(t, client)
		budgets, _ := n.seen()
		refused = len(budgets) > 0
	})
	return refused
}

// example:end

// TestTheMirrorCostsLittle holds the throughput to within 2 % of what the rule allows: the limit in each window + answer
// time + guard.
func TestTheMirrorCostsLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const minutes = 20
		n := newNetwork(1)
		defer n.store.Close()
		n.stretch = 0
		load{minutes: minutes, workers: 30, one: api.RouteMeGet}.run(t, simulatedClient(t, n))
		cycle := held + 100*time.Millisecond
		ideal := 100 * float64(minutes*time.Minute) / float64(cycle)
		if _, served := n.seen(); float64(served) < 0.98*ideal {
			t.Errorf("served %d, the rule allows %.0f", served, ideal)
		}
	})
}

// held is how long the default guard holds a slot of a minute's budget after its answer.
const held = time.Minute + time.Minute/100
