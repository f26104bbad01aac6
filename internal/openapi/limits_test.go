package openapi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
)

// docs/limits.md explains the budgets in words of its own; its two tables are those of the contract and the engine.
func TestLimitsPageHoldsTheTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "limits.md")
	got := readPage(t, path)
	want := between(t, got, "budgets", budgetTable())
	want = between(t, want, "bounds", boundTable(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Error("the tables of docs/limits.md are not those of api.Budgets(): run `make generate`")
	}
}

// The page says of each budget why it is there, so the sentence must be in the table.
func TestBudgetsSayWhy(t *testing.T) {
	t.Parallel()
	for _, b := range api.Budgets() {
		if b.Why == "" || b.Unit == "" {
			t.Errorf("budget %q lacks a reason or a unit", b.Name)
		}
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// between puts a table in place of what stands between the page's two marks of that name.
func between(t *testing.T, page, name, table string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	before, rest, begun := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("docs/limits.md lacks the lines %q and %q around a table", begin, end)
	}
	return before + begin + table + end + after
}

func budgetTable() string {
	var b strings.Builder
	b.WriteString("| budget | allowance | for each | counted in | when that fails | why |\n|---|---|---|---|---|---|\n")
	for _, row := range api.Budgets() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", row.Name, row, row.Per, placeName(row.Place), row.OnFailure, row.Why)
	}
	return b.String()
}

func placeName(p api.Place) string {
	switch p {
	case api.InRedis:
		return "Redis, else memory"
	case api.InPostgres:
		return "PostgreSQL"
	default:
		return "memory"
	}
}

// boundTable says of each budget what the engine says of its limit.
func boundTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| budget | algorithm | bound |\n|---|---|---|\n")
	for _, row := range api.Budgets() {
		limit := engineLimit(row)
		if err := limit.Check(); err != nil {
			t.Errorf("budget %q: %v", row.Name, err)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Name, row.Algorithm, limit.Bound())
	}
	return b.String()
}

func engineLimit(b api.Budget) ratelimit.Limit {
	switch b.Algorithm {
	case api.Bucket:
		return ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: b.Limit, Refill: b.Refill}
	case api.Segments:
		return ratelimit.Limit{Algorithm: ratelimit.Segments, N: b.Limit, Window: b.Window}
	case api.Fixed:
		return ratelimit.Limit{Algorithm: ratelimit.FixedWindow, N: b.Limit, Window: b.Window}
	default:
		return ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: b.Limit, Window: b.Window}
	}
}
