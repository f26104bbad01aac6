package store

import (
	"context"

	"example.com/gatehouse/internal/dbgen"
)

// A seed is an organisation that development starts with, under the claims by which the development issuer's people
// belong to it.
type seed struct {
	claim, name, plan string
	tasks             []NewTask // example:line
}

func seeds() []seed {
	return []seed{
		{
			claim: "acme", name: "Acme", plan: "team",
			// example:begin
			tasks: []NewTask{
				{Title: "Write the release notes", Notes: "One line a change, the reader's side first.", Priority: "medium", Tags: []string{"docs"}},
				{Title: "Renew the certificate of the shop", Priority: "high", Tags: []string{"ops", "security"}},
				{Title: "Order coffee", Priority: "low", Tags: []string{"office"}, Done: true},
			},
			// example:end
		},
		{
			claim: "globex", name: "Globex", plan: "free",
			// example:begin
			tasks: []NewTask{
				{Title: "Call the landlord about the heating", Priority: "high", Tags: []string{"office"}},
				{Title: "Plan the autumn offsite", Notes: "Somewhere with trains.", Priority: "none", Tags: []string{"team"}},
			},
			// example:end
		},
		{claim: "staff", name: "Staff", plan: "free"},
	}
}

// Seed makes the organisations that the development issuer's people belong to, with what is in them. An organisation
// that exists is left as it is, so it can be called at every start, by several processes.
func (s *Store) Seed(ctx context.Context, issuer string) error {
	return all(ctx, s, "seed database", func(ctx context.Context, q *dbgen.Queries) error {
		for _, organisation := range seeds() {
			if err := organisation.plant(ctx, q, issuer); err != nil {
				return err
			}
		}
		return nil
	})
}

func (organisation seed) plant(ctx context.Context, q *dbgen.Queries, issuer string) error {
	id := newID()
	made, err := q.SeedOrganisation(ctx, dbgen.SeedOrganisationParams{
		ID: id, Issuer: issuer, Claim: organisation.claim, Name: organisation.name, Plan: organisation.plan,
	})
	if err != nil || made == 0 {
		return err
	}
	// example:begin
	for _, task := range organisation.tasks {
		task.OrgID = id
		if _, err := q.CreateTask(ctx, task.params()); err != nil {
			return err
		}
	}
	// example:end
	return nil
}
