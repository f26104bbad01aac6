package mobiletest

import (
	"net/http"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/slidinglog"
)

// counters count every budget of every key. The organisation of all people is one, and its bucket is counted as a
// window, which admits no more.
type counters struct {
	limits map[string]int64
	costs  map[string]int64 // Of a request: 1, and 0 for what is metered, unless a test says otherwise.
	logs   map[key]*slidinglog.Log
	last   map[key]slidinglog.Ticket // The newest unit, to be given back.
}

type key struct{ budget, id string }

func newCounters() counters {
	c := counters{limits: map[string]int64{}, costs: map[string]int64{}, logs: map[key]*slidinglog.Log{}, last: map[key]slidinglog.Ticket{}}
	for _, b := range api.Budgets() {
		c.limits[b.Name], c.costs[b.Name] = b.Limit, 1
		if b.Metered {
			c.costs[b.Name] = 0
		}
	}
	return c
}

func (c *counters) setLimit(name string, limit int64) {
	if _, ok := api.BudgetNamed(name); !ok || limit < 0 {
		panic("mobiletest: there is no budget " + name + ", or its limit is negative")
	}
	c.limits[name] = limit
}

func (c *counters) setCost(name string, cost int64) {
	if _, ok := api.BudgetNamed(name); !ok || cost < 0 {
		panic("mobiletest: there is no budget " + name + ", or its cost is negative")
	}
	c.costs[name] = cost
}

func (c *counters) log(b api.Budget, id string) (*slidinglog.Log, key) {
	k := key{b.Name, id}
	if b.Per == api.PerOrganisation {
		k.id = ""
	}
	if c.logs[k] == nil {
		c.logs[k] = slidinglog.New(b.Window)
	}
	return c.logs[k], k
}

// take charges what a request costs of each budget, or of none.
func (c *counters) take(now time.Duration, d *decision, id string, budgets ...string) bool {
	fits := true
	for _, name := range budgets {
		b, _ := api.BudgetNamed(name)
		log, _ := c.log(b, id)
		if a := log.Look(now, c.limits[name], c.costs[name]); !a.OK {
			fits = false
		}
	}
	for _, name := range budgets {
		b, _ := api.BudgetNamed(name)
		log, k := c.log(b, id)
		a := log.Look(now, c.limits[name], c.costs[name])
		if fits {
			a, c.last[k] = log.Take(now, c.limits[name], c.costs[name])
		}
		d.add(b, c.limits[name], a)
	}
	return fits
}

func (c *counters) giveBack(now time.Duration, id, budget string) {
	b, _ := api.BudgetNamed(budget)
	log, k := c.log(b, id)
	log.GiveBack(now, c.last[k], 1)
}

func (c *counters) spend(now time.Duration, id, budget string, units int64) {
	b, ok := api.BudgetNamed(budget)
	if !ok || units < 0 {
		panic("mobiletest: there is no budget " + budget + ", or the units are negative")
	}
	log, _ := c.log(b, id)
	log.Start(now, log.Overdraw(now, units), now)
}

// status is what limits.get says of a budget.
func (c *counters) status(now time.Duration, b api.Budget, id string) api.LimitStatus {
	log, _ := c.log(b, id)
	limit := c.limits[b.Name]
	a := log.Look(now, limit, 0)
	return api.LimitStatus{
		Name: b.Name, Per: b.Per, Algorithm: b.Algorithm, Limit: &limit, WindowSeconds: api.CeilSeconds(b.Window), RefillPerSecond: b.Refill,
		Remaining: &a.Remaining, ResetMS: a.Next.Milliseconds(), Enforced: true, Source: "table", Store: b.Place, Routes: routesOf(b.Name),
	}
}

func routesOf(budget string) []string {
	routes := []string{}
	for _, r := range api.Routes() {
		for _, name := range r.Charges() {
			if name == budget {
				routes = append(routes, r.ID)
			}
		}
	}
	return routes
}

// A decision is what was decided for a request so far.
type decision struct {
	policies []api.Policy
	services []api.Service
	refused  []string
	words    string
	wait     time.Duration
	never    bool
}

func (d *decision) add(b api.Budget, limit int64, a slidinglog.Answer) {
	d.policies = append(d.policies, api.Policy{Name: b.Name, Quota: limit, Window: b.Window})
	d.services = append(d.services, api.Service{Name: b.Name, Remaining: a.Remaining, Reset: a.Next, HasReset: a.Next > 0})
	if a.OK {
		return
	}
	if len(d.refused) == 0 {
		d.words = api.Allowance(limit, b.Unit, b.Window)
	}
	d.refused = append(d.refused, b.Name)
	d.wait = max(d.wait, a.Retry)
	d.never = d.never || a.Retry == slidinglog.Never
}

func (d *decision) write(h http.Header) {
	h.Set(api.HeaderRateLimitPolicy, api.FormatPolicies(d.policies))
	h.Set(api.HeaderRateLimit, api.FormatServices(d.services))
}

func (d *decision) refuse(h http.Header) api.Problem {
	d.write(h)
	if d.never {
		d.wait = 0
	}
	return api.NewRateLimitProblem(d.words, d.wait, d.refused...)
}
