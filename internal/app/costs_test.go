package app

import (
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/parse"
	"example.com/gatehouse/internal/ratelimit"
)

// withModel is a model with answers that long.
func withModel(t *testing.T, longest int) parse.Parser {
	t.Helper()
	model, err := parse.NewModel(parse.ModelConfig{BaseURL: "https://model.test/v1", Model: "m", MaxTokens: longest})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func table() []budgetfile.Row { return budgetfile.Table(api.Budgets()) }

// What the log and the hash of the table call an algorithm is what the contract calls it.
func TestAlgorithmsHaveOneName(t *testing.T) {
	t.Parallel()
	for _, b := range api.Budgets() {
		if got := limitOf(b).Algorithm.String(); got != string(b.Algorithm) {
			t.Errorf("%s is counted by %q, and the contract says %q", b.Name, got, b.Algorithm)
		}
	}
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
	for _, row := range budgetsOf(table(), parse.NewLocal()) {
		if want := int64(1); row.Name != api.BudgetTokens && row.MaxCost != want || row.Name == api.BudgetTokens && row.MaxCost != 0 {
			t.Errorf("without a model a request costs up to %d of %s", row.MaxCost, row.Name)
		}
		if row.Name == api.BudgetTokens && (row.OnFailure != ratelimit.Local || row.Limit.Algorithm != ratelimit.Segments) {
			t.Errorf("the tokens are counted as %+v", row)
		}
	}
}
