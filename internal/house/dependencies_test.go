package house

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestDependenciesHaveReasons holds docs/dependencies.md: each direct dependency of the Go code, the tools and the
// web page has a row that says why it is there, and no row is left of one that has gone.
func TestDependenciesHaveReasons(t *testing.T) {
	t.Parallel()
	reasons := documentedDependencies(t)
	direct := slices.Concat(goModules(t), toolModules(t), webPackages(t))
	for _, name := range direct {
		if reasons[name] == "" {
			t.Errorf("%s is a direct dependency without a row in docs/dependencies.md", name)
		}
	}
	for name := range reasons {
		if !slices.Contains(direct, name) {
			t.Errorf("docs/dependencies.md has a row for %s, which is no direct dependency", name)
		}
	}
}

// documentedDependencies returns the reason of each row "| `name` | reason |".
func documentedDependencies(t *testing.T) map[string]string {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*?) *\\|")
	reasons := map[string]string{}
	for _, match := range row.FindAllSubmatch(readFile(t, "docs/dependencies.md"), -1) {
		reasons[string(match[1])] = string(match[2])
	}
	return reasons
}

func goModules(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, require := range parseMod(t, "go.mod").Require {
		if !require.Indirect {
			names = append(names, require.Mod.Path)
		}
	}
	return names
}

// toolModules returns the modules that hold the tools of tools.mod.
func toolModules(t *testing.T) []string {
	t.Helper()
	mod := parseMod(t, "tools.mod")
	var names []string
	for _, tool := range mod.Tool {
		module := ""
		for _, require := range mod.Require {
			if holds(require.Mod.Path, tool.Path) && len(require.Mod.Path) > len(module) {
				module = require.Mod.Path
			}
		}
		names = append(names, module)
	}
	return names
}

func holds(module, pkg string) bool {
	return pkg == module || strings.HasPrefix(pkg, module+"/")
}

func parseMod(t *testing.T, name string) *modfile.File {
	t.Helper()
	mod, err := modfile.Parse(name, readFile(t, name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

func webPackages(t *testing.T) []string {
	t.Helper()
	var manifest struct {
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	}
	if err := json.Unmarshal(readFile(t, "web/package.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(slices.Sorted(maps.Keys(manifest.Dependencies)), slices.Sorted(maps.Keys(manifest.DevDependencies)))
}
