package httpapi

import (
	"context"
	"fmt"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// maxPlans bounds how many plans are checked at once.
const maxPlans = 1_000

// PlanFaults says which of the plans' own numbers do not hold as they stand, and why. Such numbers come by a migration, so
// nobody was told when they were written.
func (s *Server) PlanFaults(ctx context.Context) ([]string, error) {
	plans, err := s.Store.ListPlans(ctx, -1, maxPlans)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return s.planFaults(plans), nil
}

func (s *Server) planFaults(plans []store.Plan) []string {
	var faults []string
	for _, p := range plans {
		for _, b := range p.Budgets {
			if fault := s.planFault(b); fault != "" {
				faults = append(faults, fmt.Sprintf("%s: %s %d %s", p.Name, b.Budget, b.Limit, fault))
			}
		}
	}
	return faults
}

// planFault says of a plan's own number why it does not hold as it stands, "" if it does.
func (s *Server) planFault(b store.PlanBudget) string {
	if why := s.overridable(api.ScopePlan, b.Budget); why != "" {
		return "is ignored: the budget " + why
	}
	row := s.Limiter.Budget(b.Budget)
	planned := row.Setting()
	planned.Unlimited, planned.Enforce, planned.Limit.N = false, true, b.Limit
	if b.Refill != 0 && planned.Limit.Algorithm == ratelimit.TokenBucket {
		planned.Limit.Refill = b.Refill
	}
	if err := planned.Limit.Check(); err != nil {
		return "is ignored: " + err.Error()
	}
	if err := s.checkSetting(row, planned); err != nil && row.Enforce {
		return err.Error()
	}
	return ""
}
