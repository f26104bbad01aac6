package app

import (
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/parse"
	"example.com/gatehouse/internal/ratelimit"
)

// withModel meters a model with answers that long.
func withModel(t *testing.T, longest int) httpapi.Meters {
	t.Helper()
	model, err := parse.NewModel(parse.ModelConfig{BaseURL: "https://model.test/v1", Model: "m", MaxTokens: longest})
	if err != nil {
		t.Fatal(err)
	}
	return httpapi.Meters{api.BudgetTokens: httpapi.TokenMeter(model)}
}

// A model whose calls may use more than the budget of tokens holds could never be asked, so the start ends, and says
// what to set.
func TestCostAboveTheLimit(t *testing.T) {
	t.Parallel()
	if err := checkCosts(budgetsOf(table(), withModel(t, 0))); err != nil {
		t.Errorf("with the defaults: %v", err)
	}
	err := checkCosts(budgetsOf(table(), withModel(t, 20_000)))
	if err == nil || !strings.Contains(err.Error(), "above the limit 20000 of the budget ai.tokens: raise that limit to") || !strings.Contains(err.Error(), "unset LLM_BASE_URL") {
		t.Errorf("with answers as long as the whole budget: %v", err)
	}
	for _, row := range budgetsOf(table(), httpapi.Meters{api.BudgetTokens: httpapi.TokenMeter(parse.NewLocal())}) {
		if want := int64(1); row.Name != api.BudgetTokens && row.MaxCost != want || row.Name == api.BudgetTokens && row.MaxCost != 0 {
			t.Errorf("without a model a request costs up to %d of %s", row.MaxCost, row.Name)
		}
		if row.Name == api.BudgetTokens && (row.OnFailure != ratelimit.Local || row.Limit.Algorithm != ratelimit.Segments) {
			t.Errorf("the tokens are counted as %+v", row)
		}
	}
}

func table() []budgetfile.Row { return budgetfile.Table(api.Budgets()) }
