package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
)

func ok(c *call) error { return c.noContent() }

// A refusal comes when the budget is spent, names it, and ends when its window does.
func TestRefusalAndItsEnd(t *testing.T) {
	t.Parallel()
	b, clock := newCountingBench(t, ok)
	for range 5 {
		if got := b.post("").Code; got != http.StatusNoContent {
			t.Fatalf("within the budget: %d", got)
		}
	}
	refused := b.post("")
	if refused.Code != http.StatusTooManyRequests || !strings.Contains(refused.Body.String(), `"violated-policies":["admin.threaddump"]`) || refused.Header().Get("Retry-After") != "60" {
		t.Errorf("beyond it: %d %v %s", refused.Code, refused.Header(), refused.Body)
	}
	clock.Advance(time.Minute)
	if got := b.post("").Code; got != http.StatusNoContent {
		t.Errorf("a minute later: %d", got)
	}
}

// A bench whose limiter never refuses lets a test see the handler.
func TestUnlimitedBench(t *testing.T) {
	t.Parallel()
	b := newBench(t, ok)
	for range 50 {
		if got := b.post("").Code; got != http.StatusNoContent {
			t.Fatalf("answered %d", got)
		}
	}
}

// send asks with headers, and answers the status.
func (b bench) send(headers ...string) int {
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w.Code
}

// A budget may be counted by a header, or by any function of the request: whose value differs does not share, and those
// without one share one counter.
func TestKeysOfTheRequest(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		per    api.Per
		header string
	}{
		"a header":                     {api.PerHeader("x-api-client"), "X-Api-Client"},
		"a header of the organisation": {api.PerHeader("X-Api-Client").InOrganisation(), "X-Api-Client"},
		"a function":                   {"tenant", "X-Tenant"},
		"a function, in organisations": {api.Per("tenant").InOrganisation(), "X-Tenant"},
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := newCountingBench(t, ok)
			b.Keys = map[api.Per]KeyFunc{"tenant": func(r *http.Request) string { return r.Header.Get("X-Tenant") }}
			budget := b.budgets[own]
			budget.Per = kind.per
			b.budgets[own] = budget
			if err := b.checkKey(budget); err != nil {
				t.Fatal(err)
			}
			for _, value := range []string{"one", "two", "unknown", strings.Repeat("x", 10_000), ""} {
				for i := range 6 {
					status := b.send(kind.header, value)
					if value == "" {
						status = b.send() // The header absent or empty is one.
					}
					if want := map[bool]int{false: 204, true: 429}[i == 5 || value == "" && i >= 2]; status != want {
						t.Errorf("request %d of %.10q: %d, want %d", i+1, value, status, want)
					}
				}
			}
			if id := b.ask(own, payer{request: &http.Request{Header: http.Header{kind.header: {"a secret"}}}}, 1).ID; len(id) != 32 || strings.Contains(id, "secret") {
				t.Errorf("the key of a request is %q", id)
			}
		})
	}
}

// A kind of key that nobody can tell, or that lies elsewhere than the budgets beside it, is refused at start.
func TestKeysAreCheckedAtStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, ok)
	for per, want := range map[api.Per]string{
		"tenant": `add a function for "tenant" to Config.Keys`, api.PerHeader(""): "add a function", "": "nothing tells that",
		api.Per("tenant").InOrganisation(): `add a function for "tenant"`,
	} {
		if err := b.checkKey(api.Budget{Name: "x", Per: per}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", per, err, want)
		}
	}
	route := api.Route{ID: "admin.threaddump", Budgets: []string{own}} // Of a user: user and org are charged too.
	for per, want := range map[api.Per]string{
		api.PerHeader("X-A"): "are not in one slot; count admin.threaddump per \"header X-A in organisation\"", api.PerAddress: "not in one slot", api.PerGlobal: "not in one slot",
		api.PerHeader("X-A").InOrganisation(): "", api.PerUser: "", api.PerOrganisation: "",
	} {
		b.budgets = map[string]api.Budget{}
		for _, budget := range api.Budgets() {
			b.budgets[budget.Name] = budget
		}
		budget := b.budgets[own]
		budget.Per = per
		b.budgets[own] = budget
		b.Limiter = limiterOf(t, b.budgets)
		err := b.checkBudgets(route)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q beside the user's: %v, want %q", per, err, want)
		}
	}
}

// A route that lists a budget twice, one that there is not, or a metered one that nothing reckons is refused at start.
func TestBudgetsOfRoutesAreCheckedAtStart(t *testing.T) {
	t.Parallel()
	b := newBench(t, ok)
	b.budgets["metered"] = api.Budget{Name: "metered", Metered: true}
	for want, own := range map[string][]string{
		"lists admin.threaddump twice": {own, own}, "charges nothing, which is no budget": {"nothing"},
		"disagree on whether it is metered": {"metered"},
	} {
		err := b.checkBudgets(api.Route{ID: "x", Class: api.ClassPublic, Budgets: own})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", own, err, want)
		}
	}
}

func limiterOf(t *testing.T, budgets map[string]api.Budget) *ratelimit.Limiter {
	t.Helper()
	var rows []ratelimit.Budget
	for name := range budgets {
		row := ownBudget(ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 5, Window: time.Minute})
		row.Name = name
		rows = append(rows, row)
	}
	return ratelimittest.Unlimited(t, rows...)
}
