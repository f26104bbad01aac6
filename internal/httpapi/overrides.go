package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

func overrideScopes() []api.Scope {
	return []api.Scope{api.ScopePlan, api.ScopeOrganisation, api.ScopeUser}
}

func (s *Server) adminOverridesList(c *call) error {
	query, err := c.query()
	if err != nil {
		return err
	}
	p, faults := page(query)
	target, fault := overrideFilter(query)
	if fault != nil {
		faults = append(faults, *fault)
	}
	if err := invalid(faults); err != nil {
		return err
	}
	overrides, err := s.Store.ListOverrides(c.context(), target, more(p))
	if err != nil {
		return fmt.Errorf("list overrides: %w", err)
	}
	overrides, next := cut(overrides, p, func(o store.SetOverride) store.Cursor { return store.Cursor{CreatedAt: o.CreatedAt, ID: o.ID} })
	return c.json(http.StatusOK, api.OverrideList{Items: bodies(overrides, s.overrideBody), NextCursor: next})
}

func overrideFilter(query url.Values) (store.Target, *api.FieldError) {
	t := store.Target{Scope: query.Get("scope"), Subject: query.Get("id")}
	if t.Scope != "" && !slices.Contains(overrideScopes(), api.Scope(t.Scope)) {
		return t, &api.FieldError{Field: "scope", Message: "must be one of plan, organisation, user"}
	}
	if t.Subject != "" && t.Scope == "" {
		return t, &api.FieldError{Field: "id", Message: "needs scope beside it: say whose id it is"}
	}
	return t, nil
}

func (s *Server) overrideBody(o store.SetOverride) api.Override {
	return api.Override{
		Scope: api.Scope(o.Scope), ID: o.Subject, Name: o.Name, Budget: o.Budget, Limit: o.Limit, Unlimited: o.Limit == nil,
		RefillPerSecond: o.Refill, Enforce: o.Enforce, ExpiresAt: api.NewTimePtr(o.ExpiresAt), Expired: o.Expired, Reason: o.Reason,
		Author: personBody(o.Author), CreatedAt: api.NewTime(o.CreatedAt), Fault: s.overrideFault(o),
	}
}

// adminOverridesPut sets an override. It applies here at once, and on the other processes within a second.
func (s *Server) adminOverridesPut(c *call) error {
	scope, target, faults := s.overrideTarget(c)
	in, err := readJSON[api.OverridePut](c)
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		faults = s.checkOverride(target.Budget, in)
	}
	if err := invalid(merged(faults, in.Validate())); err != nil {
		return err
	}
	name, err := s.overridden(c, scope)
	if err != nil {
		return err
	}
	act := c.act(targetOf(target), in.Reason)
	set, err := s.Store.PutOverride(c.context(), act, overrideOf(target, in))
	if err != nil {
		return fmt.Errorf("set override: %w", err)
	}
	s.Allowances.Forget(target.Scope, target.Subject)
	s.done(c, act)
	set.Name, set.Author = name, store.Person{ID: c.caller.UserID, Name: c.caller.Name, Email: c.caller.Email}
	return c.json(http.StatusOK, s.overrideBody(set))
}

func overrideOf(t store.Target, in api.OverridePut) store.Override {
	o := store.Override{Target: t, Limit: in.Limit, Refill: in.RefillPerSecond, Enforce: in.Enforce, Reason: in.Reason}
	if in.ExpiresAt != nil {
		o.ExpiresAt = &in.ExpiresAt.Time
	}
	return o
}

func (s *Server) adminOverridesDelete(c *call) error {
	reason, err := c.reason()
	if err != nil {
		return err
	}
	scope, faults := c.scoped(overrideScopes()...)
	if err := invalid(faults); err != nil {
		return err
	}
	target := store.Target{Scope: string(scope), Subject: c.gin.Param("id"), Budget: c.gin.Param("budget")}
	act := c.act(targetOf(target), reason)
	if err := s.Store.DeleteOverride(c.context(), act, target); err != nil {
		return fmt.Errorf("delete override: %w", err)
	}
	s.Allowances.Forget(target.Scope, target.Subject)
	s.done(c, act)
	return c.noContent()
}

// targetOf names an override for the audit.
func targetOf(t store.Target) string { return t.Scope + "/" + t.Subject + "/" + t.Budget }

// overrideTarget reads from the path what is changed, and for whom, or what is wrong with that.
func (s *Server) overrideTarget(c *call) (api.Scope, store.Target, []api.FieldError) {
	scope, faults := c.scoped(overrideScopes()...)
	target := store.Target{Scope: string(scope), Subject: c.gin.Param("id"), Budget: c.gin.Param("budget")}
	if message := s.overridable(scope, target.Budget); len(faults) == 0 && message != "" {
		faults = append(faults, api.FieldError{Field: "budget", Message: message})
	}
	return scope, target, faults
}

// overridable says why a budget cannot be changed for a scope, "" if it can.
func (s *Server) overridable(scope api.Scope, budget string) string {
	b, ok := s.budgets[budget]
	switch {
	case !ok:
		return "must be a budget of the table: " + strings.Join(s.budgetNames(), ", ")
	case budget == api.BudgetEdge || budget == api.BudgetEdgeCaller:
		return "is decided before it is known who calls: change it for all in BUDGETS_FILE"
	case slotOf(b.Per) != string(api.PerOrganisation):
		return fmt.Sprintf("is counted per %s, so it belongs to no %s: change it for all in BUDGETS_FILE", b.Per, scope)
	case b.Per == api.PerOrganisation && scope == api.ScopeUser:
		return "is counted per organisation: change it for the organisation"
	}
	return ""
}

func (s *Server) budgetNames() []string {
	names := make([]string, len(s.Budgets))
	for i, b := range s.Budgets {
		names[i] = b.Name
	}
	return names
}

// overridden reads the name of whom the path names: a plan, an organisation or a user that there is.
func (s *Server) overridden(c *call, scope api.Scope) (string, error) {
	if scope == api.ScopePlan {
		return s.knownPlan(c, c.gin.Param("id"))
	}
	id, err := c.id()
	if err != nil {
		return "", err
	}
	if scope == api.ScopeUser {
		member, err := s.Store.Member(c.context(), id)
		return member.Name, err
	}
	org, err := s.Store.Organisation(c.context(), id)
	return org.Name, err
}

func (s *Server) knownPlan(c *call, plan string) (string, error) {
	names, err := s.Store.PlanNames(c.context())
	if err == nil && !slices.Contains(names, plan) {
		err = notFound()
	}
	return plan, err
}

// checkOverride says what the budget does not allow. The algorithm and the window are the budget's own.
func (s *Server) checkOverride(budget string, in api.OverridePut) []api.FieldError {
	var faults []api.FieldError
	add := func(field, message string) { faults = append(faults, api.FieldError{Field: field, Message: message}) }
	row := s.Limiter.Budget(budget)
	wanted := row.Setting()
	wanted.Unlimited, wanted.Enforce = in.Unlimited, in.Enforce == nil || *in.Enforce
	if in.RefillPerSecond != nil && wanted.Limit.Algorithm != ratelimit.TokenBucket {
		add("refillPerSecond", "belongs to a token bucket, and this budget is none")
	} else if in.RefillPerSecond != nil {
		wanted.Limit.Refill = max(1, *in.RefillPerSecond) // Less is the body's own fault.
	}
	if in.Limit != nil {
		wanted.Limit.N = *in.Limit
	}
	if fault := s.settingFault(row, wanted); fault.Message != "" {
		faults = append(faults, fault)
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(time.Now()) {
		add("expiresAt", "must be in the future")
	}
	return faults
}

// settingFault says in words that follow the field's name why a budget could not be kept with these numbers; its message is ""
// if it could.
func (s *Server) settingFault(row *ratelimit.Budget, wanted ratelimit.Setting) api.FieldError {
	most := int64(api.MaxLimit)
	if wanted.Limit.Algorithm == ratelimit.SlidingLog {
		most = api.MaxSlidingLimit
	}
	if wanted.Limit.N > most {
		return api.FieldError{Field: "limit", Message: fmt.Sprintf("must be at most %d", most)}
	}
	if wanted.Limit.Refill > api.MaxLimit {
		return api.FieldError{Field: "refillPerSecond", Message: fmt.Sprintf("must be at most %d", int64(api.MaxLimit))}
	}
	if err := wanted.Limit.Check(); err != nil {
		return api.FieldError{Field: "limit", Message: "cannot be kept: " + err.Error()}
	}
	if err := s.checkSetting(row, wanted); err != nil {
		return api.FieldError{Field: "limit", Message: err.Error()}
	}
	return api.FieldError{}
}

// merged are all faults, of those of one field the last alone: what the body's own rules say of it needs no second word.
func merged(faults, own []api.FieldError) []api.FieldError {
	other := slices.DeleteFunc(faults, func(f api.FieldError) bool {
		return slices.ContainsFunc(own, func(o api.FieldError) bool { return o.Field == f.Field })
	})
	return append(other, own...)
}

// checkSetting says of numbers that make a limit why the budget could not be kept with them.
func (s *Server) checkSetting(row *ratelimit.Budget, wanted ratelimit.Setting) error {
	if row.TooSmallAt(wanted) {
		return fmt.Errorf("must be at least %d, which one request may use: below that none is let through; 0 denies everything, and enforce false only counts", row.MaxCost)
	}
	return s.underEdge(row.Name, wanted)
}

// underEdge holds user under what the edge lets one person through to: more would be promised than is kept.
func (s *Server) underEdge(budget string, wanted ratelimit.Setting) error {
	edge := s.edgeOver(budget)
	switch {
	case edge == nil:
		return nil
	case wanted.Unlimited:
		return fmt.Errorf("must be given, and at most %d, the limit of %s: more would be promised than is kept", edge.Limit.N, edge.Name)
	case wanted.Limit.N > edge.Limit.N:
		return fmt.Errorf("must be at most %d, the limit of %s", edge.Limit.N, edge.Name)
	}
	return nil
}

// edgeOver is the budget of the edge that a budget may not be above, nil if there is none.
func (s *Server) edgeOver(budget string) *ratelimit.Budget {
	edge := s.Limiter.Budget(api.BudgetEdgeCaller)
	if budget != api.BudgetUser || edge == nil || edge.Unlimited {
		return nil
	}
	return edge
}
