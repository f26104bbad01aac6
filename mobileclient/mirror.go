package mobileclient

import (
	"fmt"
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
}

type mirrorSettings struct {
	budgets map[string]allowance
	guard   float64
	grace   time.Duration
}

const (
	defaultGuard = 0.01
	defaultGrace = 10 * time.Second
)

func defaultMirror() mirrorSettings {
	budgets := map[string]allowance{EndpointBudget: {limit: EndpointLimit, window: EndpointWindow}}
	for _, b := range api.Budgets() {
		if mirrored(b) {
			budgets[b.Name] = allowance{limit: b.Limit, window: countedFor(b)}
		}
	}
	return mirrorSettings{budgets: budgets, guard: defaultGuard, grace: defaultGrace}
}

// mirrored says whether a budget is counted here: its keys are users, or the address of a stranger, and a request costs one.
func mirrored(b api.Budget) bool {
	return b.Unit == "requests" && (b.Per == api.PerUser || b.Name == api.BudgetEdge)
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

	mu      sync.Mutex
	windows map[windowKey]*window
	sweepAt int
}

// A windowKey says whose window it is. The identity is empty for what an address is charged.
type windowKey struct{ identity, budget, endpoint string }

// A window is one mirrored counter.
type window struct {
	budget string
	limit  int64
	log    *slidinglog.Log
}

func newMirror(s mirrorSettings) *mirror {
	began := time.Now()
	return &mirror{
		mirrorSettings: s,
		now:            func() time.Duration { return time.Since(began) },
		windows:        map[windowKey]*window{},
		sweepAt:        sweepFrom,
	}
}

// acquire takes the slots of one request, or of none and says why. A call that skips the limit always gets its slots.
func (m *mirror) acquire(call call, cred *credential) (*ticket, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	windows := m.windowsOf(call, cred)
	if !call.settings.skipRateLimit {
		if s := standingOf(now, windows); !s.Allowed {
			return nil, refusedLocally(call.endpoint, s.RetryAfter, s.Budgets)
		}
	}
	t := &ticket{m: m, call: call, cred: cred, windows: windows}
	t.hold(now)
	return t, nil
}

// windowsOf lists the windows that a request may be charged from, in table order. Whether the server still knows a
// credential cannot be seen from here; until it has accepted one, both edge budgets are reckoned with.
func (m *mirror) windowsOf(call call, cred *credential) []*window {
	var keys []windowKey
	if cred == nil || !cred.accepted {
		keys = append(keys, windowKey{budget: api.BudgetEdge})
	}
	if cred != nil {
		keys = append(keys, windowKey{identity: cred.identity, budget: api.BudgetEdgeCaller})
		for _, name := range call.charges {
			keys = append(keys, windowKey{identity: cred.identity, budget: name})
		}
	}
	keys = append(keys, windowKey{identity: identityOf(cred), budget: EndpointBudget, endpoint: call.endpoint})
	return m.find(keys)
}

// find returns the windows of those keys whose budget is mirrored, and makes the missing ones.
func (m *mirror) find(keys []windowKey) []*window {
	m.sweep()
	windows := make([]*window, 0, len(keys))
	for _, key := range keys {
		a, ok := m.budgets[key.budget]
		if !ok {
			continue
		}
		if m.windows[key] == nil {
			held := a.window + time.Duration(float64(a.window)*m.guard)
			m.windows[key] = &window{budget: key.budget, limit: a.limit, log: slidinglog.New(held)}
		}
		windows = append(windows, m.windows[key])
	}
	return windows
}

// sweepFrom is the number of windows from which empty ones are looked for: far above what one person's calls need.
const sweepFrom = 256

// sweep forgets windows in which nothing counts: nothing is lost with them. It runs when their number has doubled since the
// last time, so that it costs each call little.
func (m *mirror) sweep() {
	if len(m.windows) < m.sweepAt {
		return
	}
	now := m.now()
	for key, w := range m.windows {
		if w.log.Used(now) == 0 {
			delete(m.windows, key)
		}
	}
	m.sweepAt = max(sweepFrom, 2*len(m.windows))
}

// A Standing says whether a call would be let pass now.
type Standing struct {
	// Allowed says that it would.
	Allowed bool
	// Remaining is how many such calls would, one after another.
	Remaining int64
	// RetryAfter is the time until the call would be let pass if nothing else is spent meanwhile; 0 if it is allowed.
	// It is the least that it can be while earlier calls are without an answer.
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
	return c.mirror.look(call, c.tokens.held()), nil
}

func (m *mirror) look(call call, cred *credential) Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return standingOf(m.now(), m.windowsOf(call, cred))
}

func standingOf(now time.Duration, windows []*window) Standing {
	var s Standing
	for i, w := range windows {
		a := w.log.Look(now, w.limit, 1)
		if i == 0 || a.Remaining < s.Remaining {
			s.Remaining = a.Remaining
		}
		if !a.OK {
			s.RetryAfter = max(s.RetryAfter, a.Retry)
			s.Budgets = append(s.Budgets, w.budget)
		}
	}
	s.Allowed = len(s.Budgets) == 0
	return s
}
