package httpapi

import (
	"context"
	"errors"
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

// adminLimitsExplain says of each budget of a user, an organisation, an address, a session or everybody what applies and what
// is spent. It looks and spends nothing.
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

// adminLimitsReset forgets what a subject spent of a budget: in its store, and in each process that counts it by itself. The
// audit has it before it is done, and then what became of it.
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
	id, err := s.Store.BeginAct(c.context(), act)
	if err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	ctx := context.WithoutCancel(c.context()) // Who hangs up now has begun it all the same.
	if err := s.reset(ctx, id, s.ask(budget.Name, subject.payer, 0)); err != nil {
		return err
	}
	s.done(c, act)
	return c.noContent()
}

// reset resets a counter as the act of that id. The other processes are told last: what they forget sooner, they might learn
// again from a store that has not forgotten yet.
func (s *Server) reset(ctx context.Context, act uuid.UUID, ask ratelimit.Ask) error {
	if err := s.Limiter.Reset(ctx, ask.Budget, ask.Group, ask.ID); err != nil {
		return failure{
			code: api.CodeUnavailable, detail: "The store of this budget does not answer; the counter may not be reset. Try again.",
			cause: errors.Join(err, s.Store.FailAct(ctx, act)),
		}
	}
	if err := s.Store.TellReset(ctx, act, store.Counter{Budget: ask.Budget, Group: ask.Group, ID: ask.ID}); err != nil {
		return failure{code: api.CodeUnavailable, detail: "The counter is reset, but other processes were not told. Try again.", cause: err}
	}
	return nil
}

// budget finds one of the subject's budgets.
func (s *subject) budget(name string) (api.Budget, error) {
	for _, b := range s.budgets {
		if b.Name == name {
			return b, nil
		}
	}
	return api.Budget{}, invalid([]api.FieldError{{Field: "budget", Message: fmt.Sprintf("must be a budget that is counted per %s", s.body.Scope)}})
}

// subject reads from the path who is asked about.
func (s *Server) subject(c *call) (*subject, error) {
	scope, faults := c.scoped(api.ScopeOrganisation, api.ScopeUser, api.ScopeAddress, api.ScopeSession, api.ScopeGlobal)
	if err := invalid(faults); err != nil {
		return nil, err
	}
	if scope == api.ScopeAddress {
		return s.addressSubject(c.gin.Param("id"))
	}
	if scope == api.ScopeGlobal {
		return s.globalSubject(c.gin.Param("id"))
	}
	id, err := c.id()
	if err != nil {
		return nil, err
	}
	if scope == api.ScopeUser {
		return s.userSubject(c, id)
	}
	if scope == api.ScopeSession {
		return s.sessionSubject(c, id)
	}
	return s.orgSubject(c, id)
}

// userSubject has the budgets of the person and of their organisation, which they share.
func (s *Server) userSubject(c *call, id uuid.UUID) (*subject, error) {
	m, err := s.Store.Member(c.context(), id)
	if err != nil {
		return nil, fmt.Errorf("get user: %w", err)
	}
	return memberSubject(api.ScopeUser, id, m, s.budgetsPer(api.PerUser, api.PerOrganisation)), nil
}

// sessionSubject has the budgets of a session. The id of a user stands for that of their bearer tokens.
func (s *Server) sessionSubject(c *call, id uuid.UUID) (*subject, error) {
	m, err := s.Store.SessionMember(c.context(), id)
	if errors.Is(err, store.ErrNotFound) {
		m, err = s.Store.Member(c.context(), id)
	}
	if err != nil {
		return nil, fmt.Errorf("get session: %w", err)
	}
	subject := memberSubject(api.ScopeSession, id, m, s.budgetsPer(api.PerSession))
	subject.payer.sessionID = id
	return subject, nil
}

func memberSubject(scope api.Scope, id uuid.UUID, m store.Member, budgets []api.Budget) *subject {
	return &subject{
		payer: payer{userID: m.UserID, orgID: m.OrgID, plan: m.Plan},
		body: api.Explanation{
			Scope: scope, ID: id.String(), Name: m.Name, Plan: m.Plan,
			Organisation: &api.OrganisationRef{ID: m.OrgID.String(), Name: m.OrgName},
		},
		budgets: budgets,
	}
}

// globalSubject has the budgets that everybody spends together.
func (s *Server) globalSubject(id string) (*subject, error) {
	if id != api.GlobalID {
		return nil, invalid([]api.FieldError{{Field: "id", Message: "must be " + api.GlobalID}})
	}
	return &subject{body: api.Explanation{Scope: api.ScopeGlobal, ID: id}, budgets: s.budgetsPer(api.PerGlobal)}, nil
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
		return nil, invalid([]api.FieldError{{Field: "id", Message: "must be an IPv4 or IPv6 address, or the network that it is counted by, such as 2001:db8::/64"}})
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
