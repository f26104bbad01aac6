package app

import (
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/parse"
	"example.com/gatehouse/internal/ratelimit"
)

// withModel is a server whose parser is a model with answers that long.
func withModel(t *testing.T, longest int) *server {
	t.Helper()
	model, err := parse.NewModel(parse.ModelConfig{BaseURL: "https://model.test/v1", Model: "m", MaxTokens: longest})
	if err != nil {
		t.Fatal(err)
	}
	return &server{cfg: config.Config{}, parser: model}
}

func table() []budgetfile.Row { return budgetfile.Table(api.Budgets()) }

// A model whose calls may use more than the budget of tokens holds could never be asked, so the start ends, and says
// what to set.
func TestCostAboveTheLimit(t *testing.T) {
	t.Parallel()
	if err := checkCosts(withModel(t, 0).budgets(table())); err != nil {
		t.Errorf("with the defaults: %v", err)
	}
	err := checkCosts(withModel(t, 20_000).budgets(table()))
	if err == nil || !strings.Contains(err.Error(), "above the limit 20000 of the budget ai.tokens: raise that limit to") || !strings.Contains(err.Error(), "unset LLM_BASE_URL") {
		t.Errorf("with answers as long as the whole budget: %v", err)
	}
	local := &server{parser: parse.NewLocal()}
	for _, row := range local.budgets(table()) {
		if want := int64(1); row.Name != api.BudgetTokens && row.MaxCost != want || row.Name == api.BudgetTokens && row.MaxCost != 0 {
			t.Errorf("without a model a request costs up to %d of %s", row.MaxCost, row.Name)
		}
		if row.Name == api.BudgetTokens && (row.OnFailure != ratelimit.Local || row.Limit.Algorithm != ratelimit.Segments) {
			t.Errorf("the tokens are counted as %+v", row)
		}
	}
}

// Without Redis a budget that is to fail closed is counted in PostgreSQL. One beside it that is not, or that PostgreSQL
// cannot count, is a fault of the file: at a SIGHUP it must not take the place of numbers that work.
func TestPlacesThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	s := &server{parser: parse.NewLocal()}
	if _, err := s.checkedBudgets(table()); err != nil {
		t.Errorf("the table: %v", err)
	}
	closed := func(names ...string) error {
		rows := table()
		for i := range rows {
			if slices.Contains(names, rows[i].Name) {
				rows[i].OnFailure = api.FailClosed
			}
		}
		_, err := s.checkedBudgets(rows)
		return err
	}
	for _, c := range []struct {
		closed []string
		want   string
	}{
		{[]string{api.BudgetUser}, "user and org are decided together, by me.get, and would be counted in postgres and memory: set REDIS_URL"},
		{[]string{api.BudgetOrganisation}, "the budget org fails closed, and would be counted in memory"},
		{[]string{"admin.heapdump"}, ""},
	} {
		err := closed(c.closed...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %v closed: %v", c.closed, err)
		}
	}
}
