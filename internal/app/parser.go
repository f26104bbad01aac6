package app

import (
	"context"
	"fmt"
	"net/http"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/parse"
	"example.com/gatehouse/internal/ratelimit"
)

// makeParser makes what reads texts.
func (s *server) makeParser(context.Context) (err error) {
	s.parser, err = newParser(s.cfg, s.tracing.Transport(http.DefaultTransport))
	return err
}

// newParser makes the model where one is set, with the local parser behind it.
func newParser(cfg config.Config, transport http.RoundTripper) (parse.Parser, error) {
	local := parse.NewLocal()
	if cfg.LLM.BaseURL == "" {
		return local, nil
	}
	model, err := parse.NewModel(parse.ModelConfig{
		BaseURL: cfg.LLM.BaseURL, APIKey: string(cfg.LLM.APIKey), Model: cfg.LLM.Model, Fallback: local,
		HTTPClient: &http.Client{Transport: transport},
	})
	if err != nil {
		return nil, fmt.Errorf("LLM_BASE_URL: %w", err)
	}
	return model, nil
}

// checkCosts says which setting makes a metered budget too small for a single request: what that may cost is said by the
// settings of the model, and not by the rows. Of other budgets the limiter says it.
func checkCosts(budgets []ratelimit.Budget) error {
	for _, b := range budgets {
		if row, _ := api.BudgetNamed(b.Name); row.Metered && b.TooSmall() {
			return fmt.Errorf("LLM_BASE_URL is set, and one call of its model may use %d %s, above the limit %d of the budget %s: raise that limit to %[1]d at least, or unset LLM_BASE_URL",
				b.MaxCost, row.Unit, b.Limit.N, b.Name)
		}
	}
	return nil
}
