package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/ratelimit"
)

// readBudgets is the table of budgets as BUDGETS_FILE changes it; without a file the table itself.
func readBudgets(path string) ([]budgetfile.Row, error) {
	if path == "" {
		return budgetfile.Table(api.Budgets()), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("BUDGETS_FILE: %w", err)
	}
	rows, err := budgetfile.Parse(data, api.Budgets(), api.Routes())
	if err != nil {
		return nil, fmt.Errorf("BUDGETS_FILE=%s:\n%w", path, err)
	}
	return rows, nil
}

// budgets are the rows as the limiter takes them. Without Redis what belongs there is counted in memory.
func (s *server) budgets(rows []budgetfile.Row) []ratelimit.Budget {
	budgets := make([]ratelimit.Budget, len(rows))
	for i, r := range rows {
		budgets[i] = ratelimit.Budget{
			Name: r.Name, Limit: limitOf(r.Budget), Store: string(s.place(r)), OnFailure: modeOf(r.OnFailure),
			Enforce: r.Enforce, Unlimited: r.Unlimited, Source: string(sourceOf(r)),
			MaxCost: httpapi.MaxCost(r.Budget, s.parser),
		}
	}
	return budgets
}

// checkedBudgets are budgets that this server can keep: where they are counted is not said by the rows alone.
func (s *server) checkedBudgets(rows []budgetfile.Row) ([]ratelimit.Budget, error) {
	budgets := s.budgets(rows)
	if err := errors.Join(checkCosts(budgets), checkPlaces(budgets, api.Routes())); err != nil {
		return nil, err
	}
	return budgets, nil
}

// checkPlaces says which budgets that are decided together would be counted in different stores, and which one fails closed
// in a memory that cannot fail. Both come of REDIS_URL, without which rows move.
func checkPlaces(budgets []ratelimit.Budget, routes []api.Route) error {
	stores := make(map[string]string, len(budgets))
	var faults []error
	for _, b := range budgets {
		stores[b.Name] = b.Store
		if b.OnFailure == ratelimit.Closed && b.Store == string(api.InMemory) {
			faults = append(faults, fmt.Errorf("the budget %s fails closed, and would be counted in memory, which each process forgets by itself: set REDIS_URL, or onFailure to local or open", b.Name))
		}
	}
	said := map[string]bool{}
	for _, route := range routes {
		for _, name := range route.Charges() {
			first := route.Charges()[0]
			if stores[name] == stores[first] || said[first+name] {
				continue
			}
			said[first+name] = true
			faults = append(faults, fmt.Errorf("the budgets %s and %s are decided together, by %s, and would be counted in %s and %s: set REDIS_URL, or onFailure so that neither or both fail closed",
				first, name, route.ID, stores[first], stores[name]))
		}
	}
	return errors.Join(faults...)
}

// place is where a row is counted here: the edge where EDGE_STORE says, a closed one never in memory, which each process
// forgets by itself.
func (s *server) place(r budgetfile.Row) api.Place {
	switch {
	case s.cfg.EdgeStore == config.EdgeInRedis && (r.Name == api.BudgetEdge || r.Name == api.BudgetEdgeCaller):
		return api.InRedis
	case r.Place != api.InRedis || s.redis != nil:
		return r.Place
	case r.OnFailure == api.FailClosed && api.InPostgres.Counts(r.Algorithm):
		return api.InPostgres
	}
	return api.InMemory
}

// checkCosts says which setting makes a metered budget too small for a single request. Of other budgets the limiter does.
func checkCosts(budgets []ratelimit.Budget) error {
	for _, b := range budgets {
		if row, _ := api.BudgetNamed(b.Name); row.Metered && b.Enforce && !b.Unlimited && b.Limit.N > 0 && b.MaxCost > b.Limit.N {
			return fmt.Errorf("LLM_BASE_URL is set, and one call of its model may use %d %s, above the limit %d of the budget %s: raise that limit to %[1]d at least, or unset LLM_BASE_URL",
				b.MaxCost, row.Unit, b.Limit.N, b.Name)
		}
	}
	return nil
}

func sourceOf(r budgetfile.Row) api.Source {
	if r.Changed {
		return api.SourceFile
	}
	return api.SourceTable
}

// allowanceOf words what a row allows.
func allowanceOf(r budgetfile.Row) string {
	switch {
	case r.Unlimited:
		return "unlimited"
	case !r.Enforce:
		return r.String() + ", in shadow"
	}
	return r.String()
}

func limitOf(b api.Budget) ratelimit.Limit {
	algorithm := map[api.Algorithm]ratelimit.Algorithm{
		api.Sliding: ratelimit.SlidingLog, api.Segments: ratelimit.Segments, api.Bucket: ratelimit.TokenBucket, api.Fixed: ratelimit.FixedWindow,
	}[b.Algorithm]
	if algorithm == ratelimit.TokenBucket {
		return ratelimit.Limit{Algorithm: algorithm, N: b.Limit, Refill: b.Refill}
	}
	return ratelimit.Limit{Algorithm: algorithm, N: b.Limit, Window: b.Window}
}

func modeOf(m api.Mode) ratelimit.Mode {
	return map[api.Mode]ratelimit.Mode{api.FailOpen: ratelimit.Open, api.FailLocal: ratelimit.Local, api.FailClosed: ratelimit.Closed}[m]
}

// warnOfReplicas says which budgets are not shared though several processes serve.
func (s *server) warnOfReplicas(ctx context.Context, rows []budgetfile.Row) {
	if s.cfg.Replicas == 1 || s.redis != nil {
		return
	}
	var names []string
	for _, r := range rows {
		if r.Place == api.InRedis {
			names = append(names, r.Name)
		}
	}
	s.log.WarnContext(ctx, "these budgets are counted by each replica by itself, so together they admit REPLICAS times the limit: set REDIS_URL",
		"budgets", names, "replicas", s.cfg.Replicas)
}

// watchBudgets reads BUDGETS_FILE anew at each SIGHUP, until ctx ends. Without a file the signal does what it does.
func (s *server) watchBudgets(ctx context.Context) {
	if s.cfg.BudgetsFile == "" {
		return
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				s.reloadBudgets(ctx)
			}
		}
	}()
}

// reloadBudgets puts the file's numbers in place of those in force. A bad file changes nothing.
func (s *server) reloadBudgets(ctx context.Context) {
	if err := s.readBudgetsAnew(); err != nil {
		s.log.ErrorContext(ctx, "the budgets' file cannot be used; the old numbers stay", "error", err)
		return
	}
	s.log.InfoContext(ctx, "the budgets' file was read", "table", s.limiter.TableHash())
}

func (s *server) readBudgetsAnew() error {
	rows, err := readBudgets(s.cfg.BudgetsFile)
	if err != nil {
		return err
	}
	budgets, err := s.checkedBudgets(rows)
	if err != nil {
		return err
	}
	return s.limiter.Reload(budgets)
}
