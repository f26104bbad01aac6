package store

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/dbgen"
)

// ErrUnknownPlan is a conflict: an organisation cannot be put on a plan that there is not.
var ErrUnknownPlan = errors.New("unknown plan")

// A Plan is what organisations may be on.
type Plan struct {
	Name string
	// Rank is its place among the plans, smallest first.
	Rank int
	// Organisations is how many are on it.
	Organisations int
	Budgets       []PlanBudget
}

// A PlanBudget is a plan's own number for a budget.
type PlanBudget struct {
	Budget string
	Limit  int64
	// Refill is a token bucket's, in units a second; 0 for other budgets.
	Refill int64
}

// ListPlans returns the plans of a higher rank than after, smallest first.
func (s *Store) ListPlans(ctx context.Context, after, limit int) ([]Plan, error) {
	var plans []Plan
	err := all(ctx, s, "list plans", func(ctx context.Context, q *dbgen.Queries) error {
		rows, err := q.ListPlans(ctx, dbgen.ListPlansParams{AfterRank: int32(after), PageSize: int32(limit)}) //nolint:gosec // Small.
		if err != nil {
			return err
		}
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = row.Name
			plans = append(plans, Plan{Name: row.Name, Rank: int(row.Rank), Organisations: int(row.Organisations)})
		}
		budgets, err := q.BudgetsOfPlans(ctx, names)
		for _, b := range budgets {
			addBudget(plans, b)
		}
		return err
	})
	return plans, err
}

func addBudget(plans []Plan, b dbgen.PlanBudget) {
	for i := range plans {
		if plans[i].Name == b.Plan {
			plans[i].Budgets = append(plans[i].Budgets, PlanBudget{Budget: b.Budget, Limit: b.Allowance, Refill: valueOr(b.Refill, 0)})
		}
	}
}

// PlanNames returns the names of all plans, smallest first.
func (s *Store) PlanNames(ctx context.Context) ([]string, error) {
	return one(ctx, s, "list names of plans", func(ctx context.Context, q *dbgen.Queries) ([]string, error) {
		return q.PlanNames(ctx)
	})
}

// ListOrganisations returns a page of all organisations, newest first.
func (s *Store) ListOrganisations(ctx context.Context, p Page) ([]Organisation, error) {
	before, size := p.params()
	rows, err := one(ctx, s, "list organisations", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.ListOrganisationsRow, error) {
		return q.ListOrganisations(ctx, dbgen.ListOrganisationsParams{BeforeAt: before.CreatedAt, BeforeID: before.ID, PageSize: size})
	})
	organisations := make([]Organisation, len(rows))
	for i, row := range rows {
		organisations[i] = Organisation{
			ID: row.ID, Name: row.Name, Plan: row.Plan, MemberCount: int(row.MemberCount), CreatedAt: utc(row.CreatedAt),
		}
	}
	return organisations, err
}

// SetPlan puts an organisation on a plan, and writes that into the audit. The error is ErrNotFound for an unknown
// organisation, ErrUnknownPlan for an unknown plan.
func (s *Store) SetPlan(ctx context.Context, act Act, orgID uuid.UUID, plan string) error {
	return all(ctx, s, "set plan", func(ctx context.Context, q *dbgen.Queries) error {
		before, err := q.LockPlanOf(ctx, orgID)
		if err != nil {
			return err
		}
		names, err := q.PlanNames(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(names, plan) {
			return ErrUnknownPlan
		}
		if err := found(q.SetPlan(ctx, dbgen.SetPlanParams{ID: orgID, Plan: plan})); err != nil {
			return err
		}
		return act.write(ctx, q, planRecord{before}, planRecord{plan})
	})
}

// A planRecord is an organisation's plan as the audit keeps it.
type planRecord struct {
	Plan string `json:"plan"`
}

// absent turns the error of a row that is not there into a false.
func absent(err error) (bool, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	return false, err
}

func valueOr[T any](p *T, or T) T {
	if p == nil {
		return or
	}
	return *p
}
