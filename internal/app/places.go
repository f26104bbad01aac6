package app

import (
	"errors"
	"fmt"
	"slices"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/config"
)

// tableFor is the table of budgets with the edge where EDGE_STORE says.
func tableFor(cfg config.Config) []api.Budget {
	budgets := api.Budgets()
	for i := range budgets {
		if cfg.EdgeStore == config.EdgeInRedis && ofEdge(budgets[i].Name) {
			budgets[i].Place = api.InRedis
		}
	}
	return budgets
}

func ofEdge(budget string) bool { return budget == api.BudgetEdge || budget == api.BudgetEdgeCaller }

// placed are the rows where a server with these settings counts them, or everything that is wrong with counting there.
func placed(cfg config.Config, rows []budgetfile.Row) ([]budgetfile.Row, error) {
	var faults []error
	there := slices.Clone(rows)
	for i, r := range rows {
		faults = append(faults, contradiction(cfg, r))
		there[i].Place = placeOf(cfg, r)
	}
	faults = append(faults, closedInMemory(there), apart(there, api.Routes()))
	if names := unshared(cfg, there); len(names) > 0 && cfg.Env == config.Production {
		faults = append(faults, fmt.Errorf("%v would be counted by each of the %d servers of REPLICAS by itself, so that each admits the whole limit: count them in redis or postgres, or set REPLICAS=1",
			names, cfg.Replicas))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return there, nil
}

// placeOf is where a row is counted. Without Redis what belongs there is counted in memory, except a closed one, which no
// memory may hold: each process forgets it by itself.
func placeOf(cfg config.Config, r budgetfile.Row) api.Place {
	switch {
	case r.Place != api.InRedis || cfg.RedisURL != "":
		return r.Place
	case r.OnFailure == api.FailClosed && api.InPostgres.Counts(r.Algorithm):
		return api.InPostgres
	}
	return api.InMemory
}

// contradiction says that the file puts a row where the settings do not let it be.
func contradiction(cfg config.Config, r budgetfile.Row) error {
	row, _ := api.BudgetNamed(r.Name)
	switch {
	case cfg.EdgeStore == config.EdgeInRedis && ofEdge(r.Name) && r.Place != api.InRedis:
		return fmt.Errorf("%s: store %s contradicts EDGE_STORE=redis: leave store out, or unset EDGE_STORE", r.Name, r.Place)
	case cfg.RedisURL == "" && r.Placed && r.Place == api.InRedis && row.Place == api.InRedis:
		return fmt.Errorf("%s: store redis needs REDIS_URL: set it, or leave store out", r.Name)
	case cfg.RedisURL == "" && r.Place == api.InRedis && row.Place != api.InRedis:
		return fmt.Errorf("%s: store redis needs REDIS_URL: set it, or use store %s", r.Name, row.Place)
	}
	return nil
}

// closedInMemory says which budget would fail closed in a memory that cannot fail.
func closedInMemory(rows []budgetfile.Row) error {
	var faults []error
	for _, r := range rows {
		if r.OnFailure == api.FailClosed && r.Place == api.InMemory {
			faults = append(faults, fmt.Errorf("%s: fails closed, and would be counted in memory, which each process forgets by itself: set REDIS_URL, or onFailure to local or open", r.Name))
		}
	}
	return errors.Join(faults...)
}

// apart says which budgets that are decided together would be counted in different stores.
func apart(rows []budgetfile.Row, routes []api.Route) error {
	var faults []error
	for route, pair := range budgetfile.Apart(rows, routes) {
		faults = append(faults, fmt.Errorf("%s and %s are decided together, by %s, and would be counted in %s and %s: set REDIS_URL, or onFailure to local or open for both",
			pair[0].Name, pair[1].Name, route, pair[0].Place, pair[1].Place))
	}
	return errors.Join(faults...)
}

// unshared are the budgets that several servers should count together and do not.
func unshared(cfg config.Config, rows []budgetfile.Row) []string {
	var names []string
	for _, r := range rows {
		if row, _ := api.BudgetNamed(r.Name); cfg.Replicas > 1 && row.Place != api.InMemory && r.Place == api.InMemory {
			names = append(names, r.Name)
		}
	}
	return names
}
