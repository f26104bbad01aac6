package mobileclient

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/slidinglog"
)

// EndpointBudget names the allowance that each path has beside the server's budgets: [EndpointLimit] requests in any
// [EndpointWindow], ids in the path not told apart. It binds where the server's own are raised.
const (
	EndpointBudget = "endpoint"
	EndpointLimit  = 100
	EndpointWindow = time.Minute
)

// An allowance is the limit of one mirrored budget, and how long a unit of it may count at the server.
type allowance struct {
	limit  int64
	window time.Duration
	// learned is a budget that is not counted here, since others share it or its cost varies: only what answers say of
	// it holds a call back.
	learned bool
	// metered is a budget that a request costs more than one unit of, so that it may refuse with some left.
	metered bool
	// share is how many clients share the budget by agreement; the limit is this one's part.
	share int64
}

type mirrorSettings struct {
	budgets map[string]allowance
	guard   float64
	grace   time.Duration
	// patience is how long a request waits for its slots; 0 refuses at once.
	patience time.Duration
	// raise lets what the server says of its limits raise those of the mirror.
	raise bool
	// jitter is what is added to a wait that the server named, so that clients refused together do not come back together.
	jitter func(time.Duration) time.Duration
}

// shared returns the settings of one of k clients that share every budget.
func (s mirrorSettings) shared(k int64) mirrorSettings {
	budgets := map[string]allowance{}
	for name, a := range s.budgets {
		a.limit, a.share = a.limit/k, k
		budgets[name] = a
	}
	s.budgets = budgets
	return s
}

const (
	defaultGuard = 0.01
	defaultGrace = 10 * time.Second
)

func defaultMirror() mirrorSettings {
	budgets := map[string]allowance{EndpointBudget: {limit: EndpointLimit, window: EndpointWindow, share: 1}}
	for _, b := range api.Budgets() {
		budgets[b.Name] = allowance{limit: b.Limit, window: countedFor(b), learned: !mirrored(b), metered: b.Metered, share: 1}
	}
	return mirrorSettings{budgets: budgets, guard: defaultGuard, grace: defaultGrace, jitter: jitter}
}

// mirrored says whether a budget is counted here: its keys are users, or the address of a stranger, and a request costs one.
func mirrored(b api.Budget) bool {
	return !b.Metered && (b.Per == api.PerUser || b.Name == api.BudgetEdge)
}

// countedFor is how long a unit may count at the server: segments let go of it up to a sixtieth of the window late.
func countedFor(b api.Budget) time.Duration {
	if b.Algorithm == api.Segments {
		return b.Window + b.Window/60
	}
	return b.Window
}

// names lists what WithBudget takes, in the order of the table.
func (s mirrorSettings) names() string {
	names := []string{EndpointBudget}
	for _, b := range api.Budgets() {
		if mirrored(b) {
			names = append(names, b.Name)
		}
	}
	return strings.Join(names, ", ")
}

// A mirror counts locally what the server counts. One lock serves all of it, so that the slots of a request are taken
// from all of its budgets or from none, and in one order.
type mirror struct {
	mirrorSettings
	// now is the time since the mirror was made, on a clock that only runs forwards.
	now func() time.Duration

	mu     sync.Mutex
	people map[string]*person
	// windows is how many all of the people have; from sweepAt on empty ones are looked for.
	windows, sweepAt int
	// tickets numbers the tickets in the order of their acquisition.
	tickets uint64
	queue   []*waiter
	timer   *time.Timer
}

func newMirror(s mirrorSettings) *mirror {
	began := time.Now()
	return &mirror{
		mirrorSettings: s,
		now:            func() time.Duration { return time.Since(began) },
		people:         map[string]*person{},
		sweepAt:        sweepFrom,
	}
}

// A person is who a server counts: an identity, or, with none, the address.
type person struct {
	windows map[windowKey]*window
	// cred is the credential last used; what another one was told of is forgotten.
	cred *credential
	// met says that a request of the person has been answered. Until then one goes at a time, the greeting, because its
	// answer tells what others and earlier processes have spent; but none waits for it beyond greetBy.
	met      bool
	greeting *ticket
	greetBy  time.Duration
}

type windowKey struct{ budget, endpoint string }

// patienceWithGreeting bounds how long a first request that is slow, such as a model's, holds up the others.
const patienceWithGreeting = 5 * time.Second

func (m *mirror) person(identity string) *person {
	p := m.people[identity]
	if p == nil {
		p = &person{windows: map[windowKey]*window{}}
		m.people[identity] = p
	}
	return p
}

// windowsOf lists the windows that a request may be charged from, in table order. Whether the server still knows a
// credential cannot be seen from here; until it has accepted one, both edge budgets are reckoned with.
func (m *mirror) windowsOf(call call, cred *credential) []*window {
	m.sweep()
	windows := make([]*window, 0, len(call.charges)+3)
	add := func(p *person, key windowKey) {
		if w := m.window(p, key); w != nil {
			windows = append(windows, w)
		}
	}
	if cred == nil || !cred.accepted {
		add(m.person(""), windowKey{budget: api.BudgetEdge})
	}
	p := m.person(identityOf(cred))
	if cred != nil {
		p.use(cred)
		add(p, windowKey{budget: api.BudgetEdgeCaller})
		for _, name := range call.charges {
			add(p, windowKey{budget: name})
		}
	}
	add(p, windowKey{budget: EndpointBudget, endpoint: call.endpoint})
	return windows
}

// use drops what the answers to another credential taught. The slots stay: the server counts by person.
func (p *person) use(cred *credential) {
	if p.cred == cred {
		return
	}
	p.cred = cred
	for _, w := range p.windows {
		w.lesson = lesson{}
	}
}

// window finds a window, or makes it; nil if the budget was taken out of the mirror.
func (m *mirror) window(p *person, key windowKey) *window {
	if w := p.windows[key]; w != nil {
		return w
	}
	a, ok := m.budgets[key.budget]
	if !ok {
		return nil
	}
	w := &window{budget: key.budget, allowance: a, jitter: m.jitter}
	if !a.learned {
		w.log = slidinglog.New(a.window + time.Duration(float64(a.window)*m.guard))
	}
	p.windows[key] = w
	m.windows++
	return w
}

// sweepFrom is the number of windows from which empty ones are looked for: far above what one person's calls need.
const sweepFrom = 256

// sweep forgets windows in which nothing counts: nothing is lost with them. It runs when their number has doubled since the
// last time, so that it costs each call little, and never under those who wait for a window.
func (m *mirror) sweep() {
	if m.windows < m.sweepAt || len(m.queue) > 0 {
		return
	}
	now := m.now()
	for identity, p := range m.people {
		maps.DeleteFunc(p.windows, func(_ windowKey, w *window) bool { return w.empty(now) })
		if len(p.windows) == 0 {
			delete(m.people, identity)
		}
	}
	m.windows = 0
	for _, p := range m.people {
		m.windows += len(p.windows)
	}
	m.sweepAt = max(sweepFrom, 2*m.windows)
}

// A Standing says whether a call would be let pass now.
type Standing struct {
	// Allowed says that it would.
	Allowed bool
	// Remaining is how many such calls would, one after another.
	Remaining int64
	// RetryAfter is the time until the call would be let pass if nothing else is spent meanwhile; 0 if it is allowed, or if
	// no wait helps. It is the least that it can be while earlier calls are without an answer.
	RetryAfter time.Duration
	// Budgets names those that would refuse.
	Budgets []string
}

// Limits says, without asking the server and without spending, whether a call to the endpoint would leave now, else in
// how long. An endpoint is a route's id such as "tasks.parse", or a path such as "/api/v1/tasks/:id", with a method
// before it where the path has several, such as "POST /api/v1/tasks". What the server says is [Client.FetchLimits].
func (c *Client) Limits(endpoint string) (Standing, error) {
	call, err := c.contract.callTo(endpoint)
	if err != nil {
		return Standing{}, fmt.Errorf("limits of endpoint: %w", err)
	}
	cred := c.tokens.held()
	if cred == nil && c.tokens != nil {
		cred = &credential{identity: nobodyYet}
	}
	return c.mirror.look(call, cred), nil
}

// nobodyYet is the identity of a client that has not asked its source yet: somebody who has spent nothing.
const nobodyYet = "nobody yet"

func (m *mirror) look(call call, cred *credential) Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return standingOf(m.now(), m.windowsOf(call, cred))
}

func standingOf(now time.Duration, windows []*window) Standing {
	s := Standing{Remaining: math.MaxInt64}
	for _, w := range windows {
		v := w.look(now)
		s.Remaining = min(s.Remaining, v.remaining)
		if !v.ok {
			s.RetryAfter = longer(s.RetryAfter, v.wait)
			s.Budgets = append(s.Budgets, w.budget)
		}
	}
	s.Allowed = len(s.Budgets) == 0
	s.RetryAfter = max(s.RetryAfter, 0)
	return s
}
