package house

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The modules that the rules name, so that a row reads as a sentence.
const (
	gin        = "github.com/gin-gonic/gin"
	goOIDC     = "github.com/coreos/go-oidc/v3"
	goJose     = "github.com/go-jose/go-jose/v4"
	oauth2     = "golang.org/x/oauth2"
	uuid       = "github.com/google/uuid"
	pgx        = "github.com/jackc/pgx/v5"
	goose      = "github.com/pressly/goose/v3"
	goRedis    = "github.com/redis/go-redis/v9"
	kinOpenAPI = "github.com/getkin/kin-openapi"
	when       = "github.com/olebedev/when"       // example:line
	openAI     = "github.com/openai/openai-go/v3" // example:line
	prometheus = "github.com/prometheus/client_golang"
	otel       = "go.opentelemetry.io/otel"
	otelTrace  = "go.opentelemetry.io/otel/trace"
	otelSDK    = "go.opentelemetry.io/otel/sdk"
	otlpTraces = "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelHTTP   = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	rapid      = "pgregory.net/rapid"
	xMod       = "golang.org/x/mod"
)

// A rule is what a package may import beyond the standard library.
type rule struct {
	own     []string // packages of this module
	modules []string // modules of others
	all     bool     // everything: the packages that wire the rest
	test    bool     // support for tests: no other code may import it
}

// rules has a row for each package of the module. A package without a row, or a row without its package, fails.
var rules = map[string]rule{
	"api":      {},
	"api/spec": {},
	"db":       {},
	"web":      {},

	"cmd/server":            {own: []string{"internal/app"}},
	"cmd/demo":              {own: []string{"api", "mobileclient"}},
	"scripts/rename":        {modules: []string{xMod}},
	"scripts/removeexample": {}, // example:line

	"internal/app":    {all: true},
	"internal/house":  {},
	"internal/devdb":  {},
	"internal/config": {own: []string{"api"}},
	"internal/telemetry": {
		modules: []string{prometheus, otel, otelTrace, otelSDK, otlpTraces, otelHTTP},
	},

	"internal/slidinglog":                {},
	"internal/budgetfile":                {own: []string{"api"}},
	"internal/frequent":                  {},
	"internal/allowance":                 {own: []string{"internal/ratelimit", "internal/store"}},
	"internal/clientip":                  {},
	"internal/ratelimit":                 {own: []string{"internal/slidinglog"}},
	"internal/ratelimit/memory":          {own: []string{"internal/ratelimit", "internal/slidinglog"}},
	"internal/ratelimit/redis":           {own: []string{"internal/ratelimit"}, modules: []string{goRedis}},
	"internal/ratelimit/postgres":        {own: []string{"internal/ratelimit", "internal/store"}},
	"internal/ratelimit/redis/redistest": {modules: []string{goRedis}, test: true},
	"internal/ratelimit/ratelimittest": {
		own:     []string{"internal/ratelimit", "internal/ratelimit/memory", "internal/slidinglog"},
		modules: []string{rapid}, test: true,
	},

	"internal/dbgen": {modules: []string{pgx, uuid}},
	"internal/store": {
		own: []string{"db", "internal/dbgen"}, modules: []string{pgx, goose, uuid},
	},
	"internal/store/storetest": {
		own: []string{"db", "internal/devdb", "internal/store"}, modules: []string{pgx}, test: true,
	},

	"internal/auth":   {own: []string{"internal/store"}, modules: []string{goOIDC, goJose, oauth2, uuid}},
	"internal/devidp": {own: []string{"internal/store"}, modules: []string{goOIDC, goJose, oauth2, uuid}},
	"internal/parse":  {modules: []string{when, openAI}}, // example:line

	"internal/httpapi": {
		own: []string{
			"api", "api/spec", "internal/allowance", "internal/auth", "internal/clientip", "internal/frequent", "internal/ratelimit",
			"internal/store", "internal/telemetry", "web",
			"internal/parse", // example:line
		},
		modules: []string{gin, uuid},
	},
	"internal/openapi": {own: []string{"api"}, modules: []string{kinOpenAPI}},

	"internal/servertest": {all: true, test: true},

	"mobileclient":            {own: []string{"api", "internal/slidinglog"}},
	"mobileclient/bind":       {own: []string{"api", "mobileclient"}},
	"mobileclient/mobiletest": {own: []string{"api", "internal/slidinglog"}, test: true},
}

func TestImports(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	for name, p := range packages {
		row, ok := rules[name]
		if !ok {
			t.Errorf("package %s has no row in the rules: say there what it may import", name)
			continue
		}
		for _, fault := range row.faults(p) {
			t.Errorf("package %s imports %s, which its row does not allow", name, fault)
		}
	}
	for name := range rules {
		if _, ok := packages[name]; !ok {
			t.Errorf("the rules have a row for %s, and there is no such package", name)
		}
	}
}

// TestTheContractNeedsNothing holds what a client of the SDK relies on: to import it brings the standard library
// and this module, no other.
func TestTheContractNeedsNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"api", "mobileclient"} {
		for _, other := range reach(name) {
			if len(rules[other].modules) > 0 || rules[other].all {
				t.Errorf("package %s reaches %s, which may import other modules", name, other)
			}
		}
	}
}

func TestRulesCatchAForbiddenImport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		row     rule
		imports imports
		want    []string
	}{
		{"allowed", rule{own: []string{"api"}, modules: []string{gin}}, imports{own: []string{"api"}, modules: []string{gin}}, nil},
		{"another package", rule{own: []string{"api"}}, imports{own: []string{"api", "internal/store"}}, []string{"internal/store"}},
		{"another module", rule{modules: []string{gin}}, imports{modules: []string{gin, pgx}}, []string{pgx}},
		{"everything", rule{all: true}, imports{own: []string{"internal/store"}, modules: []string{pgx}}, nil},
		{"test support in code", rule{all: true}, imports{own: []string{"internal/servertest"}}, []string{"internal/servertest"}},
		{"test support in test support", rule{all: true, test: true}, imports{own: []string{"internal/servertest"}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.row.faults(test.imports); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// faults returns what of imports the rule does not allow.
func (r rule) faults(imports imports) []string {
	var faults []string
	for _, own := range imports.own {
		if rules[own].test && !r.test || !r.all && !slices.Contains(r.own, own) {
			faults = append(faults, own)
		}
	}
	for _, module := range imports.modules {
		if !r.all && !slices.Contains(r.modules, module) {
			faults = append(faults, module)
		}
	}
	return faults
}

// reach returns the packages that a package may import, and those that they may, by the rules.
func reach(name string) []string {
	seen := map[string]bool{name: true}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, next := range rules[queue[0]].own {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// imports are what the code of a package imports, its tests left out; packages of this module without its path.
type imports struct{ own, modules []string }

// listPackages returns each package of this module, by its path below the module's.
func listPackages(t *testing.T) map[string]imports {
	t.Helper()
	listed := goList(t)
	modules, root := map[string]string{}, modulePath(t)
	for _, p := range listed {
		if p.Module != nil {
			modules[p.ImportPath] = p.Module.Path
		}
	}
	packages := map[string]imports{}
	for _, p := range listed {
		if modules[p.ImportPath] != root {
			continue
		}
		var found imports
		for _, name := range p.Imports {
			switch module := modules[name]; module {
			case "": // the standard library
			case root:
				found.own = append(found.own, below(root, name))
			default:
				found.modules = append(found.modules, module)
			}
		}
		packages[below(root, p.ImportPath)] = found
	}
	return packages
}

// below returns an import path without the module's path before it.
func below(root, importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, root), "/")
}

type listedPackage struct {
	ImportPath string   `json:"ImportPath"`
	Imports    []string `json:"Imports"`
	Module     *struct {
		Path string `json:"Path"`
	} `json:"Module"`
}

// goList lists the packages of the module and all that they need.
func goList(t *testing.T) []listedPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Module", "./...")
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}
