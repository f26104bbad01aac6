package httpapi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
	"example.com/gatehouse/internal/store"
)

// A plan's own number that does not hold as it stands is told of, with the reason; one that holds is not.
func TestPlanFaults(t *testing.T) {
	t.Parallel()
	s := planned(t)
	for _, c := range []struct {
		budget        string
		limit, refill int64
		want          string // "" for none
	}{
		{"admin", 1024, 0, ""},
		{"admin", 1025, 0, "plan gold: admin 1025 is ignored: limit 1025 is above 1024, the most a log holds"},
		{"user", 200, 0, ""},
		{"user", 201, 0, "plan gold: user 201 must be at most 200, the limit of edge.caller"},
		{"org", 3000, 50, ""},
		{"org", 1_000_000_000, 1, "plan gold: org 1000000000 is ignored: a bucket of 1000000000 filled with 1 a second takes longer"},
		{"admin.threaddump", 5000, 0, ""},
		{"admin.threaddump", 0, 0, ""},
		{"admin.threaddump", 4999, 0, "plan gold: admin.threaddump 4999 must be at least 5000, which one request may use"},
		{"auth.login", 5, 0, "plan gold: auth.login 5 is ignored: the budget is counted per address"},
		{"edge.caller", 5, 0, "plan gold: edge.caller 5 is ignored: the budget is decided before it is known who calls"},
		{"task.write", 5, 0, "plan gold: task.write 5 is ignored: the budget must be a budget of the table"},
	} {
		plan := store.Plan{Name: "gold", Budgets: []store.PlanBudget{{Budget: c.budget, Limit: c.limit, Refill: c.refill}}}
		got := strings.Join(s.planFaults([]store.Plan{{Name: "free"}, plan}), ", ")
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s %d: %q, want %q", c.budget, c.limit, got, c.want)
		}
		if shown := s.planBody(plan).Budgets[0].Fault; (shown != "") != (c.want != "") || !strings.Contains(got, shown) {
			t.Errorf("%s %d: administrators are shown %q", c.budget, c.limit, shown)
		}
	}
}

// An override that held when it was set is told of once the settings make it void, until it ends.
func TestOverrideFaultsByTheSettingsOfNow(t *testing.T) {
	t.Parallel()
	s := planned(t)
	for _, c := range []struct {
		budget  string
		limit   *int64
		enforce *bool
		expired bool
		want    string // "" for none
	}{
		{"admin.threaddump", new(int64(4999)), nil, false, "must be at least 5000, which one request may use"},
		{"admin.threaddump", new(int64(4999)), new(false), false, ""},
		{"admin.threaddump", new(int64(4999)), nil, true, ""},
		{"admin.threaddump", nil, nil, false, ""},
		{"user", new(int64(201)), nil, false, "must be at most 200, the limit of edge.caller"},
		{"user", nil, nil, false, "is unlimited, above the 200 of edge.caller: more is promised than is kept"},
		{"user", new(int64(200)), nil, false, ""},
		{"gone", new(int64(2)), nil, false, "is ignored: the budget must be a budget of the table"},
	} {
		o := store.SetOverride{Expired: c.expired, Override: store.Override{
			Target: store.Target{Scope: "user", Subject: "alice", Budget: c.budget}, Limit: c.limit, Enforce: c.enforce,
		}}
		got, shown := strings.Join(s.overrideFaults([]store.SetOverride{o}), ", "), s.overrideBody(o).Fault
		if !strings.HasPrefix(shown, c.want) || c.want == "" && shown != "" {
			t.Errorf("%s: administrators are shown %q, want %q", c.budget, shown, c.want)
		}
		if c.want != "" && got != "override of user alice: "+c.budget+" "+shown || c.want == "" && got != "" {
			t.Errorf("%s: the log says %q", c.budget, got)
		}
	}
}

// Who sets an override is told what to give instead.
func TestUnlimitedAboveTheEdgeIsRefused(t *testing.T) {
	t.Parallel()
	s := planned(t)
	const want = "must be given, and at most 200, the limit of edge.caller"
	faults := s.checkOverride("user", api.OverridePut{Unlimited: true})
	if len(faults) != 1 || faults[0].Field != "limit" || !strings.HasPrefix(faults[0].Message, want) {
		t.Errorf("an unlimited user: %+v, want one of limit that %s", faults, want)
	}
	if faults := s.checkOverride("admin.threaddump", api.OverridePut{Unlimited: true}); len(faults) != 0 {
		t.Errorf("what no edge is above: %+v", faults)
	}
}

// What is said to be ignored is: of a budget that cannot be changed for a plan, an organisation or a user, theirs does not
// apply, whoever calls. Of all others it does.
func TestOnlyWhatIsOverridableApplies(t *testing.T) {
	t.Parallel()
	s := &Server{budgets: map[string]api.Budget{}}
	s.Budgets = api.Budgets()
	for _, b := range s.Budgets {
		s.budgets[b.Name] = b
	}
	caller := payer{userID: uuid.New(), orgID: uuid.New(), sessionID: uuid.New(), plan: "gold", address: "192.0.2.1"}
	for _, b := range s.Budgets {
		of := s.ask(b.Name, caller, 1).Subject
		for scope, id := range map[api.Scope]string{api.ScopePlan: of.Plan, api.ScopeOrganisation: of.Organisation, api.ScopeUser: of.User} {
			if why := s.overridable(scope, b.Name); (why == "") != (id != "") {
				t.Errorf("%s of the %s %q applies, and that it cannot be changed is said as %q", b.Name, scope, id, why)
			}
		}
	}
}

// planned is a server of some budgets, of which one takes up to 5 000 units a request, and a caller has 200 requests at the edge.
func planned(t *testing.T) *Server {
	t.Helper()
	minute := func(n int64) ratelimit.Limit {
		return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: n, Window: time.Minute}
	}
	rows := []ratelimit.Budget{
		{Name: "edge.caller", Limit: minute(200)},
		{Name: "user", Limit: minute(100)},
		{Name: "admin", Limit: minute(30)},
		{Name: "auth.login", Limit: minute(10)},
		{Name: "org", Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 600, Refill: 10}},
		{Name: "admin.threaddump", Limit: ratelimit.Limit{Algorithm: ratelimit.Segments, N: 20_000, Window: 24 * time.Hour}, MaxCost: 5000},
	}
	s := &Server{budgets: map[string]api.Budget{}}
	for i := range rows {
		rows[i].Store, rows[i].OnFailure, rows[i].Enforce = "memory", ratelimit.Open, true
		row, _ := api.BudgetNamed(rows[i].Name)
		s.Budgets, s.budgets[row.Name] = append(s.Budgets, row), row
	}
	s.Limiter, _ = ratelimittest.OnClock(t, rows...)
	return s
}
