package httpapi

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// A subject is whom an administrator asks about, and the budgets that are theirs.
type subject struct {
	payer   payer
	body    api.Explanation
	budgets []api.Budget
}

// adminLimitsExplain says of each budget of a user, an organisation or an address what applies and what is spent. It looks
// and spends nothing.
func (s *Server) adminLimitsExplain(c *call) error {
	subject, err := s.subject(c)
	if err != nil {
		return err
	}
	results := s.look(c.context(), subject.payer, subject.budgets)
	epochs := map[string]int64{}
	for _, status := range s.Limiter.Stores() {
		epochs[status.Name] = int64(status.Epoch) //nolint:gosec // Counts events.
	}
	body := subject.body
	body.Budgets = []api.ExplainedBudget{}
	for _, b := range subject.budgets {
		if r, ok := results[b.Name]; ok {
			explained := s.explained(b, r, s.ask(b.Name, subject.payer, 0))
			explained.Epoch = epochs[r.Budget.Store]
			body.Budgets = append(body.Budgets, explained)
		}
	}
	return c.json(http.StatusOK, body)
}

func (s *Server) explained(b api.Budget, r *ratelimit.Result, ask ratelimit.Ask) api.ExplainedBudget {
	key := refusedKey{b.Name, ask.ID}
	e := api.ExplainedBudget{
		Name: b.Name, Per: b.Per, Algorithm: b.Algorithm, WindowSeconds: api.CeilSeconds(window(r.Limit)), Source: api.Source(r.Source),
		Store: api.Place(r.Budget.Store), Mode: api.Mode(r.Budget.OnFailure.String()), Degraded: r.Degraded, Enforced: r.Enforced,
		Denied: s.refusals.denied.Count(key), WouldDeny: s.refusals.wouldDeny.Count(key), Bound: "unlimited: nothing is counted",
	}
	if r.Unlimited {
		return e
	}
	e.Limit, e.RefillPerSecond, e.Bound = &r.Limit.N, r.Limit.Refill, r.Limit.Bound()
	if r.Counted {
		used := r.Limit.N - r.Verdict.Remaining
		e.Used, e.Remaining, e.NextMS = &used, &r.Verdict.Remaining, api.CeilMilliseconds(r.Verdict.Next)
	}
	return e
}

// adminLimitsReset forgets what a subject spent of a budget: in its store, and in each process that counts it by itself.
func (s *Server) adminLimitsReset(c *call) error {
	subject, err := s.subject(c)
	if err != nil {
		return err
	}
	reason, err := c.reason()
	if err != nil {
		return err
	}
	budget, err := subject.budget(c.gin.Param("budget"))
	if err != nil {
		return err
	}
	act := c.act(string(subject.body.Scope)+"/"+subject.body.ID+"/"+budget.Name, reason)
	ask := s.ask(budget.Name, subject.payer, 0)
	if err := s.Store.TellReset(c.context(), act, store.Counter{Budget: ask.Budget, Group: ask.Group, ID: ask.ID}); err != nil {
		return fmt.Errorf("tell of reset: %w", err)
	}
	if err := s.Limiter.Reset(c.context(), ask.Budget, ask.Group, ask.ID); err != nil {
		return failure{code: api.CodeUnavailable, detail: "The store of this budget does not answer; nothing was forgotten.", cause: err}
	}
	s.done(c, act)
	return c.noContent()
}

// budget finds one of the subject's budgets.
func (s *subject) budget(name string) (api.Budget, error) {
	for _, b := range s.budgets {
		if b.Name == name {
			return b, nil
		}
	}
	return api.Budget{}, invalid([]api.FieldError{{Field: "budget", Message: fmt.Sprintf("must be a budget that is counted for this %s", s.body.Scope)}})
}

// subject reads from the path who is asked about.
func (s *Server) subject(c *call) (*subject, error) {
	scope, faults := c.scoped(api.ScopeOrganisation, api.ScopeUser, api.ScopeAddress)
	if err := invalid(faults); err != nil {
		return nil, err
	}
	if scope == api.ScopeAddress {
		return s.addressSubject(c.gin.Param("id"))
	}
	id, err := c.id()
	if err != nil {
		return nil, err
	}
	if scope == api.ScopeUser {
		return s.userSubject(c, id)
	}
	return s.orgSubject(c, id)
}

// userSubject has the budgets of the person and of their organisation, which they share.
func (s *Server) userSubject(c *call, id uuid.UUID) (*subject, error) {
	m, err := s.Store.Member(c.context(), id)
	if err != nil {
		return nil, fmt.Errorf("get user: %w", err)
	}
	return &subject{
		payer: payer{userID: m.UserID, orgID: m.OrgID, plan: m.Plan},
		body: api.Explanation{
			Scope: api.ScopeUser, ID: id.String(), Name: m.Name, Plan: m.Plan,
			Organisation: &api.OrganisationRef{ID: m.OrgID.String(), Name: m.OrgName},
		},
		budgets: s.budgetsPer(api.PerUser, api.PerOrganisation),
	}, nil
}

func (s *Server) orgSubject(c *call, id uuid.UUID) (*subject, error) {
	org, err := s.Store.Organisation(c.context(), id)
	if err != nil {
		return nil, fmt.Errorf("get organisation: %w", err)
	}
	return &subject{
		payer: payer{orgID: id, plan: org.Plan},
		body: api.Explanation{
			Scope: api.ScopeOrganisation, ID: id.String(), Name: org.Name, Plan: org.Plan,
			Organisation: &api.OrganisationRef{ID: id.String(), Name: org.Name},
		},
		budgets: s.budgetsPer(api.PerOrganisation),
	}, nil
}

func (s *Server) addressSubject(address string) (*subject, error) {
	key, ok := s.Addresses.Key(address)
	if !ok {
		return nil, invalid([]api.FieldError{{Field: "id", Message: "must be an IPv4 or IPv6 address"}})
	}
	return &subject{
		payer:   payer{address: key},
		body:    api.Explanation{Scope: api.ScopeAddress, ID: key},
		budgets: s.budgetsPer(api.PerAddress),
	}, nil
}

func (s *Server) budgetsPer(kinds ...api.Per) []api.Budget {
	var budgets []api.Budget
	for _, b := range s.Budgets {
		for _, per := range kinds {
			if b.Per == per {
				budgets = append(budgets, b)
			}
		}
	}
	return budgets
}
