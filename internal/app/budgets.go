package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/ratelimit"
)

// readBudgets is the table of budgets as EDGE_STORE and BUDGETS_FILE change it, each where a server with these settings
// counts it. What the server would not start with is an error here, for all who read.
func readBudgets(cfg config.Config) ([]budgetfile.Row, error) {
	if cfg.BudgetsFile == "" {
		return checked(cfg, budgetfile.Table(tableFor(cfg)))
	}
	data, err := os.ReadFile(cfg.BudgetsFile)
	if err != nil {
		return nil, fmt.Errorf("BUDGETS_FILE: %w: name a file that this server may read, or unset it", err)
	}
	rows, err := budgetfile.Parse(data, tableFor(cfg), api.Routes())
	if err == nil {
		rows, err = checked(cfg, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("BUDGETS_FILE=%s:\n%w", cfg.BudgetsFile, err)
	}
	return rows, nil
}

// checked are the rows where a server with these settings counts them, or everything that keeps it from doing so.
func checked(cfg config.Config, rows []budgetfile.Row) ([]budgetfile.Row, error) {
	there, faults := placed(cfg, rows)
	// example:begin
	meters, err := newMeters(cfg)
	if err != nil {
		return nil, err
	}
	faults = errors.Join(faults, checkCosts(budgetsOf(rows, meters)))
	// example:end
	return there, faults
}

// newMeters has what each metered budget costs with these settings. A new one adds its line here.
func newMeters(cfg config.Config) (httpapi.Meters, error) {
	meters := httpapi.Meters{}
	// example:begin
	parser, err := newParser(cfg, http.DefaultTransport)
	if err != nil {
		return nil, err
	}
	meters[api.BudgetTokens] = httpapi.TokenMeter(parser)
	// example:end
	return meters, nil
}

// budgetsOf are the rows as the limiter takes them, where metered ones cost what the meters say.
func budgetsOf(rows []budgetfile.Row, meters httpapi.Meters) []ratelimit.Budget {
	budgets := make([]ratelimit.Budget, len(rows))
	for i, r := range rows {
		budgets[i] = ratelimit.Budget{
			Name: r.Name, Limit: limitOf(r.Budget), Store: string(r.Place), OnFailure: modeOf(r.OnFailure),
			Enforce: r.Enforce, Unlimited: r.Unlimited, Source: string(sourceOf(r)),
			MaxCost: meters.MaxCost(r.Budget),
		}
	}
	return budgets
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
	if names := unshared(s.cfg, rows); len(names) > 0 {
		s.log.WarnContext(ctx, "these budgets are counted by each replica by itself, so together they admit REPLICAS times the limit: count them in Redis or PostgreSQL",
			"budgets", names, "replicas", s.cfg.Replicas)
	}
}

// warnOfNumbers says which numbers of plans and overrides do not hold as they stand. They may be changed at any time, so that
// they do is no condition of the file.
func (s *server) warnOfNumbers(ctx context.Context) {
	faults, err := s.api.NumberFaults(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "the numbers of plans and overrides were not checked", "error", err)
		return
	}
	if len(faults) > 0 {
		s.log.WarnContext(ctx, "numbers of plans or overrides do not hold as they stand", "numbers", faults)
	}
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
	if err := s.readBudgetsAnew(ctx); err != nil {
		s.log.ErrorContext(ctx, "the budgets' file cannot be used; the old numbers stay", "error", err)
		return
	}
	s.log.InfoContext(ctx, "the budgets' file was read", "table", s.limiter.TableHash())
}

func (s *server) readBudgetsAnew(ctx context.Context) error {
	rows, err := readBudgets(s.cfg)
	if err != nil {
		return err
	}
	if err := s.limiter.Reload(budgetsOf(rows, s.meters)); err != nil {
		return fmt.Errorf("BUDGETS_FILE=%s: %w", s.cfg.BudgetsFile, err)
	}
	s.warnOfReplicas(ctx, rows)
	s.warnOfNumbers(ctx)
	return nil
}
