package httpapi

import (
	"context"
	"fmt"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// maxChecked bounds how many plans, and how many overrides, are checked at once.
const maxChecked = 1_000

// NumberFaults says which numbers of plans and overrides do not hold as they stand, and why. A plan's own come by a migration,
// so nobody was told when they were written; an override's were checked by what the settings were then.
func (s *Server) NumberFaults(ctx context.Context) ([]string, error) {
	plans, err := s.Store.ListPlans(ctx, -1, maxChecked)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	overrides, err := s.Store.ListOverrides(ctx, store.Target{}, store.Page{Limit: maxChecked})
	if err != nil {
		return nil, fmt.Errorf("list overrides: %w", err)
	}
	return append(s.planFaults(plans), s.overrideFaults(overrides)...), nil
}

func (s *Server) planFaults(plans []store.Plan) []string {
	var faults []string
	for _, p := range plans {
		for _, b := range p.Budgets {
			if fault := s.planFault(b); fault != "" {
				faults = append(faults, fmt.Sprintf("plan %s: %s %d %s", p.Name, b.Budget, b.Limit, fault))
			}
		}
	}
	return faults
}

// planFault says of a plan's own number why it does not hold as it stands, "" if it does.
func (s *Server) planFault(b store.PlanBudget) string {
	n := store.Override{Target: store.Target{Scope: string(api.ScopePlan), Budget: b.Budget}, Limit: &b.Limit}
	if b.Refill != 0 {
		n.Refill = &b.Refill
	}
	return s.numberFault(n)
}

func (s *Server) overrideFaults(overrides []store.SetOverride) []string {
	var faults []string
	for _, o := range overrides {
		if fault := s.overrideFault(o); fault != "" {
			faults = append(faults, fmt.Sprintf("override of %s %s: %s %s", o.Scope, o.Subject, o.Budget, fault))
		}
	}
	return faults
}

// overrideFault says of an override why it does not hold as it stands, "" if it does or has ended.
func (s *Server) overrideFault(o store.SetOverride) string {
	if o.Expired {
		return ""
	}
	return s.numberFault(o.Override)
}

// numberFault says why a number that was set does not hold by the settings of now.
func (s *Server) numberFault(o store.Override) string {
	if why := s.overridable(api.Scope(o.Scope), o.Budget); why != "" {
		return "is ignored: the budget " + why
	}
	row := s.Limiter.Budget(o.Budget)
	wanted := row.Setting()
	if wanted.Unlimited = o.Limit == nil; !wanted.Unlimited {
		wanted.Limit.N = *o.Limit
	}
	if o.Enforce != nil {
		wanted.Enforce = *o.Enforce
	}
	if o.Refill != nil && wanted.Limit.Algorithm == ratelimit.TokenBucket {
		wanted.Limit.Refill = *o.Refill
	}
	if err := wanted.Limit.Check(); err != nil {
		return "is ignored: " + err.Error()
	}
	if edge := s.edgeOver(o.Budget); edge != nil && wanted.Unlimited { // In words of its own: no limit is asked for here.
		return fmt.Sprintf("is unlimited, above the %d of %s: more is promised than is kept", edge.Limit.N, edge.Name)
	}
	if err := s.checkSetting(row, wanted); err != nil {
		return err.Error()
	}
	return ""
}
