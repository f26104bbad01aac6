package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// domain is the migration that made the tables; the new one is the same turned around.
const domain = "db/migrations/00003_tasks.sql"

const (
	up   = "-- +goose Up\n"
	down = "-- +goose Down\n"
)

// dropTables makes the migration after the last one.
func dropTables(dir string) (name, content string, err error) {
	made, err := os.ReadFile(filepath.Join(dir, domain))
	if err != nil {
		return "", "", fmt.Errorf("read how the tables were made: %w", err)
	}
	_, rest, began := strings.Cut(string(made), up)
	create, drop, ended := strings.Cut(rest, down)
	if !began || !ended {
		return "", "", errors.New(domain + " has not the two parts of a migration")
	}
	next, err := nextMigration(dir)
	if err != nil {
		return "", "", err
	}
	content = "-- The example domain is gone: its tables, and what plans and overrides said of its budgets.\n\n" + up + "\n" +
		strings.TrimSpace(drop) + "\n\n" + forgetBudgets + "\n" + down + "\n" + strings.TrimSpace(create) + "\n"
	return fmt.Sprintf("db/migrations/%05d_drop_example.sql", next), content, nil
}

// forgetBudgets clears away numbers of budgets that are no more: with them the server would warn at each start.
const forgetBudgets = `DELETE FROM plan_budgets WHERE budget = 'ai.tokens' OR budget LIKE 'tasks.%' OR budget LIKE 'reports.%';
DELETE FROM overrides WHERE budget = 'ai.tokens' OR budget LIKE 'tasks.%' OR budget LIKE 'reports.%';
`

func nextMigration(dir string) (int, error) {
	names, err := filepath.Glob(filepath.Join(dir, "db", "migrations", "*.sql"))
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	last := 0
	for _, name := range names {
		number, _, _ := strings.Cut(filepath.Base(name), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			return 0, fmt.Errorf("%s: a migration's name begins with its number: %w", name, err)
		}
		last = max(last, n)
	}
	return last + 1, nil
}

// regenerate writes anew what is made from what has changed.
func regenerate(ctx context.Context, dir string) error {
	if output, err := run(ctx, dir, "make", "--no-print-directory", "generate"); err != nil {
		return fmt.Errorf("the example is removed, but what is generated could not be made anew; say make generate once what it says is mended: %w\n%s", err, output)
	}
	return nil
}

// dropModules takes out of go.mod what the example alone needed. To know that, Go may have to fetch what this machine has
// never built, so it can fail without a network; what is left builds either way.
func dropModules(ctx context.Context, dir string) error {
	if output, err := run(ctx, dir, "go", "mod", "tidy"); err != nil {
		return fmt.Errorf("go.mod still names what the example needed; say go mod tidy where there is a network: %w\n%s", err, output)
	}
	return nil
}

// run returns what a command says, on both of its outputs.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, args...) //nolint:gosec // Of this program's own arguments.
	command.Dir = dir
	return command.CombinedOutput()
}
