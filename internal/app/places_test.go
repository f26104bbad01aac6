package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
	"example.com/gatehouse/internal/config"
)

func readText(t *testing.T, cfg config.Config, text string) ([]budgetfile.Row, error) {
	t.Helper()
	cfg.BudgetsFile = filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(cfg.BudgetsFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readBudgets(cfg)
}

// A file that this server cannot count by is refused by everybody who reads it, with its name and what to do; one that it
// can is read.
func TestFilesAgainstSettings(t *testing.T) {
	t.Parallel()
	const closedOrg, closedUser = `{"org": {"onFailure": "closed"}}`, `{"user": {"onFailure": "closed"}}`
	const usersInMemory = `{"user": {"store": "memory"}, "org": {"store": "memory"}` +
		// example:begin
		`, "tasks.write": {"store": "memory"}, "tasks.parse": {"store": "memory"}, "tasks.parse.burst": {"store": "memory"},
		"ai.tokens": {"store": "memory"}, "tasks.export": {"store": "memory"}, "reports.create": {"store": "memory"}` +
		// example:end
		`}`
	plain, redis := config.Config{Replicas: 1}, config.Config{Replicas: 1, RedisURL: "redis://r"}
	edge := config.Config{Replicas: 1, RedisURL: "redis://r", EdgeStore: config.EdgeInRedis}
	production := config.Config{Env: config.Production, Replicas: 2, RedisURL: "redis://r"}
	development := config.Config{Env: config.Development, Replicas: 2, RedisURL: "redis://r"}
	for name, c := range map[string]struct {
		cfg        config.Config
		text, want string
	}{
		"nothing":                     {plain, `{}`, ""},
		"a closed user":               {plain, closedUser, "user and org are decided together, by me.get, and would be counted in postgres and memory: set REDIS_URL"},
		"a closed export":             {plain, `{"tasks.export": {"onFailure": "closed"}}`, "user and tasks.export are decided together, by tasks.export"}, // example:line
		"a closed user with Redis":    {redis, closedUser, ""},
		"a closed bucket":             {plain, closedOrg, "org: fails closed, and would be counted in memory"},
		"a closed bucket with Redis":  {redis, closedOrg, ""},
		"a closed budget by itself":   {plain, `{"admin.heapdump": {"onFailure": "closed"}}`, ""},
		"the edge in no Redis":        {plain, `{"edge": {"store": "redis"}}`, "edge: store redis needs REDIS_URL: set it, or use store memory"},
		"sign-ins in no Redis":        {plain, `{"auth.login": {"store": "redis"}}`, "auth.login: store redis needs REDIS_URL: set it, or use store postgres"},
		"users in no Redis":           {plain, `{"user": {"store": "redis"}}`, "user: store redis needs REDIS_URL: set it, or leave store out"},
		"users in Redis":              {redis, `{"user": {"store": "redis"}}`, ""},
		"sign-ins in Redis":           {redis, `{"auth.login": {"store": "redis"}}`, ""},
		"the edge in Redis":           {redis, `{"edge": {"store": "redis"}}`, ""},
		"the edge against EDGE_STORE": {edge, `{"edge": {"store": "memory"}}`, "edge: store memory contradicts EDGE_STORE=redis"},
		"a closed edge in Redis":      {edge, `{"edge": {"onFailure": "closed"}}`, ""},
		"apart in production":         {production, usersInMemory, " would be counted by each of the 2 servers"},
		"apart in development":        {development, usersInMemory, ""},
		"together in production":      {production, `{"user": {"limit": 50}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, err := readText(t, c.cfg, c.text)
			if c.want == "" && (err != nil || len(rows) != len(api.Budgets())) {
				t.Errorf("%d rows, %v", len(rows), err)
			}
			if c.want != "" && (err == nil || rows != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "BUDGETS_FILE=")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Rows say where this server counts them, and no setting makes the table's row one of the file.
func TestPlaced(t *testing.T) {
	t.Parallel()
	redis, edge := config.Config{RedisURL: "redis://r"}, config.Config{RedisURL: "redis://r", EdgeStore: config.EdgeInRedis}
	for _, c := range []struct {
		cfg    config.Config
		budget string
		want   api.Place
	}{
		{config.Config{}, api.BudgetUser, api.InMemory},
		{config.Config{}, "auth.login", api.InPostgres},
		{config.Config{}, api.BudgetEdge, api.InMemory},
		{redis, api.BudgetUser, api.InRedis},
		{redis, api.BudgetEdge, api.InMemory},
		{edge, api.BudgetEdge, api.InRedis},
		{edge, api.BudgetEdgeCaller, api.InRedis},
	} {
		rows, err := readText(t, c.cfg, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Changed || r.Name == c.budget && r.Place != c.want {
				t.Errorf("with %+v %s is in %s (changed: %t), want %s", c.cfg, r.Name, r.Place, r.Changed, c.want)
			}
		}
	}
}

// Of several servers, in development, those budgets are warned of that each counts by itself.
func TestUnshared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  config.Config
		text string
		want string
	}{
		{config.Config{Replicas: 1}, `{}`, ""},
		{config.Config{Replicas: 2, RedisURL: "redis://r"}, `{}`, ""},
		{config.Config{Replicas: 2, RedisURL: "redis://r"}, `{"admin.threaddump": {"store": "memory"}, "admin": {"store": "memory"}}`, "admin admin.threaddump"},
		{config.Config{Replicas: 2, RedisURL: "redis://r"}, `{"auth.login": {"store": "memory", "onFailure": "open"}}`, "auth.login"},
	} {
		rows, err := readText(t, c.cfg, c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(unshared(c.cfg, rows), " "); got != c.want {
			t.Errorf("%s with %d servers: %q, want %q", c.text, c.cfg.Replicas, got, c.want)
		}
	}
}

// What the log and the hash of the table call an algorithm is what the contract calls it.
func TestAlgorithmsHaveOneName(t *testing.T) {
	t.Parallel()
	for _, b := range api.Budgets() {
		if got := limitOf(b).Algorithm.String(); got != string(b.Algorithm) {
			t.Errorf("%s is counted by %q, and the contract says %q", b.Name, got, b.Algorithm)
		}
	}
}

// A file that is not there is said with what to do.
func TestMissingBudgetsFile(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Replicas: 1, BudgetsFile: filepath.Join(t.TempDir(), "none.json")}
	if _, err := readBudgets(cfg); err == nil || !strings.Contains(err.Error(), cfg.BudgetsFile) || !strings.Contains(err.Error(), "name a file that this server may read, or unset it") {
		t.Errorf("it is said as %v", err)
	}
}
