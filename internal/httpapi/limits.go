package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
)

// limitsGet tells the caller what is left of each budget. It looks and spends nothing: a client that asks what it may
// do must not be able to do less for it.
func (s *Server) limitsGet(c *call) error {
	body := api.Limits{Caller: api.LimitsCaller{Kind: "address"}, Budgets: []api.LimitStatus{}}
	if c.caller != nil {
		body.Caller = api.LimitsCaller{Kind: "user", UserID: c.caller.UserID.String(), OrgID: c.caller.OrgID.String(), Plan: c.caller.Plan}
	}
	var concerned []api.Budget
	for _, b := range s.Budgets {
		if s.concerns(c, b) {
			concerned = append(concerned, b)
		}
	}
	results := s.look(c.context(), c.payer(), concerned)
	for _, b := range concerned {
		if r, ok := results[b.Name]; ok {
			body.Budgets = append(body.Budgets, s.limitStatus(b, r))
		}
	}
	return c.json(http.StatusOK, body)
}

// look asks each store once for all that it counts in one place.
func (s *Server) look(ctx context.Context, p payer, budgets []api.Budget) map[string]*ratelimit.Result {
	type place struct{ store, group string }
	asks := map[place][]ratelimit.Ask{}
	for _, b := range budgets {
		ask := s.ask(b.Name, p, 0)
		at := place{s.Limiter.Budget(b.Name).Store, ask.Group}
		asks[at] = append(asks[at], ask)
	}
	results := map[string]*ratelimit.Result{}
	for _, together := range asks {
		d := s.Limiter.Look(ctx, together...)
		for i := range d.Results {
			results[d.Results[i].Budget.Name] = &d.Results[i]
		}
	}
	return results
}

// concerns says whether a budget is the caller's: without a credential the address's edge alone, without the role none of
// the administrators'.
func (s *Server) concerns(c *call, b api.Budget) bool {
	if c.caller == nil {
		return b.Name == api.BudgetEdge
	}
	if !c.caller.Admin && s.adminsOnly(b.Name) {
		return false
	}
	switch b.Per {
	case api.PerUser, api.PerOrganisation:
		return true
	case api.PerSession:
		return c.caller.SessionID != uuid.Nil
	case api.PerAddress, api.PerGlobal:
		return false
	default:
		return true // Told by the request itself.
	}
}

func (s *Server) limitStatus(b api.Budget, r *ratelimit.Result) api.LimitStatus {
	status := api.LimitStatus{
		Name: b.Name, Per: b.Per, Algorithm: b.Algorithm, WindowSeconds: api.CeilSeconds(window(r.Limit)),
		Enforced: r.Enforced, Source: api.Source(r.Source), Store: api.Place(r.Budget.Store), Degraded: r.Degraded, Routes: s.chargedBy(b.Name),
	}
	if r.Unlimited {
		return status
	}
	status.Limit, status.RefillPerSecond = &r.Limit.N, r.Limit.Refill
	if r.Counted {
		status.Remaining, status.ResetMS = &r.Verdict.Remaining, api.CeilMilliseconds(r.Verdict.Next)
	}
	return status
}

// adminsOnly says whether administrators' routes alone charge the budget.
func (s *Server) adminsOnly(budget string) bool {
	routes := 0
	for _, route := range s.Routes {
		if !slices.Contains(route.Charges(), budget) {
			continue
		}
		if routes++; route.Class != api.ClassAdmin {
			return false
		}
	}
	return routes > 0
}

// chargedBy lists the routes that charge a budget. The edge is charged by all, and lists none.
func (s *Server) chargedBy(budget string) []string {
	ids := []string{}
	for _, route := range s.Routes {
		if slices.Contains(route.Charges(), budget) {
			ids = append(ids, route.ID)
		}
	}
	return ids
}

func (s *Server) openapiGet(c *call) error {
	c.gin.Data(http.StatusOK, "application/json", s.OpenAPI)
	return nil
}
