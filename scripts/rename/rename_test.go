package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRename(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"go.mod":            "module example.org/old\n\ngo 1.26\n\nrequire example.org/older v1.0.0\n",
		"main.go":           "package main\n\nimport (\n\t\"fmt\"\n\n\tjson \"example.org/old/json\" // its own\n\t\"example.org/older\"\n)\n",
		"text.go":           "package main\n\n// example.org/old/json in a comment, and in text:\nconst text = \"example.org/old/json\"\n",
		"README.md":         "example.org/old stays: the page is not code.\n",
		"bench/go.mod":      "module example.org/old/bench\n\ngo 1.26\n\nrequire example.org/old v0.0.0\n\nreplace example.org/old => ../\n",
		"bench/b.go":        "package bench\n\nimport _ \"example.org/old\"\n",
		".hidden/a.go":      "package a\n\nimport _ \"example.org/old\"\n",
		"node_modules/a.go": "not Go at all",
	}
	after := map[string]string{
		"go.mod":       "module example.com/new/app\n\ngo 1.26\n\nrequire example.org/older v1.0.0\n",
		"main.go":      "package main\n\nimport (\n\t\"fmt\"\n\n\tjson \"example.com/new/app/json\" // its own\n\t\"example.org/older\"\n)\n",
		"bench/go.mod": "module example.com/new/app/bench\n\ngo 1.26\n\nrequire example.com/new/app v0.0.0\n\nreplace example.com/new/app => ../\n",
		"bench/b.go":   "package bench\n\nimport _ \"example.com/new/app\"\n",
	}
	dir := writeTree(t, before)

	changed, err := rename(dir, "example.com/new/app")
	if err != nil || changed != len(after) {
		t.Fatalf("rename: %d files, %v; want %d", changed, err, len(after))
	}
	for name, content := range before {
		want := content
		if moved, ok := after[name]; ok {
			want = moved
		}
		if got := readFile(t, dir, name); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}

	if changed, err := rename(dir, "example.com/new/app"); err != nil || changed != 0 {
		t.Errorf("the second time: %d files, %v; want none", changed, err)
	}
}

func TestRenameIntoItsOwnFolder(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{
		"go.mod": "module example.org/a\n",
		"a.go":   "package a\n\nimport _ \"example.org/a/b\"\n",
	})
	for range 2 {
		if _, err := rename(dir, "example.org/a/b"); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readFile(t, dir, "a.go"), "package a\n\nimport _ \"example.org/a/b/b\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRenameLeavesTheTreeAloneWhenAFileIsBroken(t *testing.T) {
	t.Parallel()
	tree := map[string]string{
		"go.mod": "module example.org/a\n",
		"a.go":   "package a\n\nimport _ \"example.org/a/b\"\n",
		"z.go":   "package z\n\nimport \"example.org/a/b\n",
	}
	dir := writeTree(t, tree)
	if _, err := rename(dir, "example.com/b"); err == nil {
		t.Fatal("no error for a file that cannot be parsed")
	}
	for name, want := range tree {
		if got := readFile(t, dir, name); got != want {
			t.Errorf("%s was changed to %q", name, got)
		}
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ path, want string }{
		{"example.org/x/app", ""},
		{"example.org/x/app/v2", ""},
		{"https://example.org/x", `module path "https://example.org/x": leave out "https://", a module path has no scheme`},
		{"", `malformed module path "": empty string (a module path looks like example.org/you/app)`},
		{"app", `malformed module path "app": missing dot in first path element (a module path looks like example.org/you/app)`},
		{"example.org/x y", `malformed module path "example.org/x y": invalid char ' ' (a module path looks like example.org/you/app)`},
		{"example.org/x/", `malformed module path "example.org/x/": trailing slash (a module path looks like example.org/you/app)`},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := checkPath(test.path); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
