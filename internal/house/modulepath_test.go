package house

import (
	"bytes"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestModulePathStandsInGoModAndImportsOnly holds what makes a rename safe: to change go.mod and the imports is
// enough, because no document, script, setting or string names the path.
func TestModulePathStandsInGoModAndImportsOnly(t *testing.T) {
	t.Parallel()
	module := modulePath(t)
	for _, name := range sourceFiles(t) {
		if path.Base(name) == "go.mod" {
			continue
		}
		content := readFile(t, name)
		if strayPath(t, name, content, module) {
			t.Errorf("%s: the module's path stands outside go.mod and imports: a fork that is renamed would miss it", name)
		}
	}
}

func TestStrayPath(t *testing.T) {
	t.Parallel()
	const module = "example.org/a"
	tests := []struct {
		name, file, content string
		want                bool
	}{
		{"an import", "a.go", "package a\n\nimport \"example.org/a/b\"\n", false},
		{"a comment", "a.go", "package a\n\n// see example.org/a/b\n", true},
		{"a string", "a.go", "package a\n\nimport \"example.org/a/b\"\n\nconst s = \"example.org/a\"\n", true},
		{"a comment beside an import", "a.go", "package a\n\nimport \"example.org/a/b\" // example.org/a\n", true},
		{"a page", "README.md", "go get example.org/a\n", true},
		{"an address that happens to hold it", "README.md", "git clone https://example.org/a\n", false},
		{"another path", "README.md", "go get example.org/b\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := strayPath(t, test.file, []byte(test.content), module); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// strayPath reports whether a file names the module's path anywhere but in a Go import, or in a web address: where
// a fork is at home is a fact of its own.
func strayPath(t *testing.T, name string, content []byte, module string) bool {
	t.Helper()
	allowed := bytes.Count(content, []byte("://"+module))
	if strings.HasSuffix(name, ".go") && bytes.Contains(content, []byte(module)) {
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			allowed += strings.Count(spec.Path.Value, module)
		}
	}
	return bytes.Count(content, []byte(module)) > allowed
}
