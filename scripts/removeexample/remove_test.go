package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	begin, end, line := "// example"+":begin", "// example"+":end", "// example"+":line"
	tests := map[string]struct{ text, want, fault string }{
		"nothing":        {"a\nb\n", "a\nb\n", ""},
		"a region":       {"a\n" + begin + "\nb\n" + end + "\nc\n", "a\nc\n", ""},
		"blank lines":    {"a\n\n" + begin + "\nb\n" + end + "\n\nc\n", "a\n\nc\n", ""},
		"a line":         {"a\nb " + line + "\nc\n", "a\nc\n", ""},
		"a line of SQL":  {"a\nb -- example" + ":line\n", "a\n", ""},
		"a line of page": {"a\nb <!-- example" + ":line -->\n{/* example" + ":line */}\nc\n", "a\nc\n", ""},
		"in the middle":  {"says example" + ":line here\n", "says example" + ":line here\n", ""},
		"in words":       {"from example" + ":begin to example" + ":end.\n", "from example" + ":begin to example" + ":end.\n", ""},
		"nested":         {begin + "\n" + begin + "\n", "", "line 2: begins before the one above has ended"},
		"not begun":      {"a\n" + end + "\n", "", "line 2: ends without a beginning"},
		"not ended":      {begin + "\na\n", "", "the last one has no end"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed, err := strip(test.text)
			if fault := faultOf(err); got != test.want || fault != test.fault || changed != (err == nil && test.want != test.text) {
				t.Errorf("got %q, %t, %s; want %q, %s", got, changed, fault, test.want, test.fault)
			}
		})
	}
}

func faultOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTidy(t *testing.T) {
	t.Parallel()
	const imports = "package a\n\nimport (\n\t\"fmt\"\n\t_ \"embed\"\n\t\"os\"\n\n\tother \"example.org/x\"\n\t\"example.org/y/v2\"\n\t\"example.org/go-z\"\n)\n\n"
	const kept = "func a() { fmt.Println(z.A) }\n"
	got, err := tidy("a.go", imports+kept+"\nfunc b() {\n\tos.Exit(other.A + y.A)\n}\n", imports+kept)
	want := "package a\n\nimport (\n\t_ \"embed\"\n\t\"fmt\"\n\n\t\"example.org/go-z\"\n)\n\n" + kept
	if err != nil || got != want {
		t.Errorf("got\n%s\n%v, want\n%s", got, err, want)
	}
	if got, err := tidy("a.go", "package a\n\nimport (\n\t\"os\"\n)\n\nvar a = os.Args\n", "package a\n\nimport (\n\t\"os\"\n)\n"); err != nil || got != "package a\n" {
		t.Errorf("without any import it is %q, %v", got, err)
	}
	if _, err := tidy("a.go", imports, "package a\nfunc {"); err == nil {
		t.Error("what is no Go any more was taken")
	}
}

const migration = "-- Words.\n\n-- +goose Up\n\nCREATE TABLE tasks ();\n\n-- +goose Down\n\nDROP TABLE tasks;\n"

func tree() map[string]string {
	return map[string]string{
		own + "/main.go":                "package main\n",
		own + "/example.txt":            "# Words.\ngone.go\nfolder # and all in it\n",
		webList:                         "src/tasks.tsx\n",
		"gone.go":                       "package a\n",
		"folder/in/it.txt":              "x\n",
		"web/src/tasks.tsx":             "x\n",
		"web/src/app.tsx":               "a\nb // example" + ":line\n",
		"stays.go":                      "package a\n\nimport \"os\"\n\n// example" + ":begin\n\nvar a = os.Args\n\n// example" + ":end\n",
		domain:                          migration,
		"db/migrations/00004_other.sql": "-- +goose Up\n",
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := commit(t, tree())
	done, err := remove(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := (outcome{gone: 6, changed: 2, migration: "db/migrations/00005_drop_example.sql"}); done != want {
		t.Errorf("done is %+v, want %+v", done, want)
	}
	for _, name := range []string{own, webList, "gone.go", "folder", "web/src/tasks.tsx"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	dropped := read(t, dir, done.migration)
	drop, forget := strings.Index(dropped, "DROP TABLE tasks;"), strings.Index(dropped, "DELETE FROM overrides")
	if create := strings.Index(dropped, "CREATE TABLE tasks ();"); drop < 0 || forget < drop || create < forget || strings.Index(dropped, down) > create {
		t.Errorf("the migration is\n%s", dropped)
	}
	for name, want := range map[string]string{"stays.go": "package a\n", "web/src/app.tsx": "a\n", domain: migration} {
		if got := read(t, dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(t *testing.T, dir string)
		want  string
	}{
		"not committed": {func(t *testing.T, dir string) { t.Helper(); write(t, dir, "new.txt", "x") }, "commit them or git stash them"},
		"no repository": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
		}, "git init"},
		"a list that has rotted": {func(t *testing.T, dir string) {
			t.Helper()
			write(t, dir, own+"/example.txt", "gone.go\nnowhere.go\n")
			inGit(t, dir, "commit", "--quiet", "--all", "--message=x")
		}, "example.txt lists nowhere.go, which is not there"},
		"a mark without its end": {func(t *testing.T, dir string) {
			t.Helper()
			write(t, dir, "stays.go", "package a\n\n// example"+":begin\n")
			inGit(t, dir, "commit", "--quiet", "--all", "--message=x")
		}, "stays.go: example marks: the last one has no end"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := commit(t, tree())
			test.spoil(t, dir)
			if _, err := remove(t.Context(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if read(t, dir, "gone.go") != "package a\n" {
				t.Error("something was changed")
			}
		})
	}
}

// commit makes a repository of the files.
func commit(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, dir, name, content)
	}
	inGit(t, dir, "init", "--quiet")
	inGit(t, dir, "add", "--all")
	inGit(t, dir, "commit", "--quiet", "--message=x")
	return dir
}

func inGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{
		"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false",
	}, args...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, output)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
