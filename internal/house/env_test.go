package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The environment goes before .env, and a value of .env is what stands there: nothing of it is run.
func TestEnv(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, given, want string }{
		{"no file", "-", "", ""},
		{"set", "A=1", "", "1"},
		{"set elsewhere", "B=1", "", ""},
		{"the environment first", "A=1", "A=2", "2"},
		{"an empty environment first", "A=1", "A=", ""},
		{"a URL", "A=postgres://u:$x`y`@h/d?a=b&c=d#e", "", "postgres://u:$x`y`@h/d?a=b&c=d#e"},
		{"a comment", "# A=0\n\n  A=1 # one\n", "", "1"},
		{"a comment instead of a value", "A= # B=1", "", ""},
		{"quotes", `A="1 # 'one'" # two`, "", "1 # 'one'"},
		{"quotes after a space", `A= "1" `, "", "1"},
		{"single quotes", `A='a "b" $c'`, "", `a "b" $c`},
		{"space around", "\tA=a b \t", "", "a b"},
		{"export", "export A=1\r\n", "", "1"},
		{"a comment behind a comment", "A=1 # one # two", "", "1"},
		{"no comment", "A=1#one", "", "1#one"},
		{"the last of two", "A=1\nA=2", "", "2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			output, err := runEnv(t, test.file, test.given)
			if err != nil || output != test.want {
				t.Errorf("%q and %q make A %q (%v), want %q", test.file, test.given, output, err, test.want)
			}
		})
	}
	for _, bad := range []string{"hunter2", "A=1\nB = hunter2", `A="hunter2`, "A='hunter2'x", "1A=hunter2"} {
		output, err := runEnv(t, bad, "")
		if err == nil || !strings.Contains(output, "of .env is not NAME=value") || strings.Contains(output, "hunter2") {
			t.Errorf("%q: %v, %q", bad, err, output)
		}
	}
}

// runEnv prints A as a command of scripts/env sees it, with that .env ("-": none) and in that environment.
func runEnv(t *testing.T, file, given string) (string, error) {
	t.Helper()
	return commandOfEnv(t, file, given, "bash", "-c", `printf %s "$A"`)
}

// commandOfEnv runs a command through scripts/env, with that .env ("-": none) and in that environment.
func commandOfEnv(t *testing.T, file, given string, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	place(t, dir, "scripts/env", string(readFile(t, "scripts/env")))
	if file != "-" {
		place(t, dir, ".env", file)
	}
	command := exec.CommandContext(t.Context(), "bash", append([]string{"scripts/env"}, args...)...)
	command.Dir = dir
	command.Env = slices.DeleteFunc([]string{"PATH=" + os.Getenv("PATH"), given}, func(s string) bool { return s == "" })
	output, err := command.CombinedOutput()
	return string(output), err
}

// A setting may have any name, such as one that the script or bash has for itself; only the environment goes before it.
func TestEnvTakesAnyName(t *testing.T) {
	t.Parallel()
	const own, shells = "name value line file number setting settings given double single comment", "HOSTNAME IFS RANDOM SECONDS OPTIND COLUMNS DIRSTACK"
	has := func(file, given, want string) {
		if output, err := commandOfEnv(t, file, given, "env"); err != nil || !slices.Contains(strings.Split(output, "\n"), want) {
			t.Errorf("with %s in .env and %s given, the environment (%v) is not %s:\n%s", file, given, err, want, output)
		}
	}
	for name := range strings.FieldsSeq(own + " " + shells) {
		has(name+"=file", "A=1", name+"=file")
	}
	for name := range strings.FieldsSeq(own + " HOSTNAME") {
		has(name+"=file", name+"=given", name+"=given")
		has("A=file", name+"=given", name+"=given")
	}
}

// A name that nothing takes is warned of, by its line and without its value, and the command runs all the same.
func TestEnvWarnsOfNoSettings(t *testing.T) {
	t.Parallel()
	run := func(file string) string {
		dir := t.TempDir()
		for _, name := range []string{"scripts/env", ".env.example", "docker-compose.yml", "docker-compose.prod.yml"} {
			place(t, dir, name, string(readFile(t, name)))
		}
		place(t, dir, ".env", file)
		command := exec.CommandContext(t.Context(), "bash", "scripts/env", "echo", "ran")
		command.Dir, command.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", file, err, output)
		}
		return string(output)
	}
	const known = "HTTP_ADDR=:81\nOTEL_SERVICE_NAME=a\nPGSSLROOTCERT=b\nGOMEMLIMIT=1GiB\nURL=c\nARGS=d\nPORT=8081\nPOSTGRES_PASSWORD=e\n#HTTP_ADR=:82\n"
	if output := run(known); output != "ran\n" {
		t.Errorf("of what is known it says %q", output)
	}
	want := "env: line 3 of .env sets HTTP_ADR, which is no setting: see .env.example\nran\n"
	if output := run("LOG_LEVEL=debug\n\nHTTP_ADR=hunter2\n"); output != want {
		t.Errorf("it says %q, want %q", output, want)
	}
}

// Every target that reads settings reads the same: what is given on the command line or in the environment, then .env.
func TestTargetsReadTheSameSettings(t *testing.T) {
	t.Parallel()
	const inFile = "DATABASE_URL=postgres://file/app\nHTTP_ADDR=127.0.0.1:81\n"
	tests := []struct {
		name, file string
		args, env  []string
		want       []string
	}{
		{"run without settings", "", []string{"run"}, nil, []string{"setup postgresql", "server serve development  "}},
		{"run with a file", inFile, []string{"run"}, nil, []string{"server serve development postgres://file/app 127.0.0.1:81"}},
		{"run with both", inFile, []string{"run"}, []string{"HTTP_ADDR=:82"}, []string{"server serve development postgres://file/app :82"}},
		{"run with a command line", inFile, []string{"run", "APP_ENV=production", "DATABASE_URL="}, nil, []string{"setup postgresql", "server serve production  127.0.0.1:81"}},
		{"dev with both", inFile, []string{"dev"}, []string{"DATABASE_URL="}, []string{"setup postgresql", "npm  127.0.0.1:81"}},
		{"dev with a file", inFile, []string{"dev"}, nil, []string{"npm postgres://file/app 127.0.0.1:81"}},
		{"demo without settings", "", []string{"demo"}, nil, []string{"go run ./cmd/demo -url http://localhost:8080"}},
		{"demo with a file", inFile, []string{"demo", "ARGS=-replicas 2"}, nil, []string{"go run ./cmd/demo -url http://localhost:81 -replicas 2"}},
		{"demo with both", inFile, []string{"demo"}, []string{"PUBLIC_URL=http://a.localhost"}, []string{"go run ./cmd/demo -url http://a.localhost"}},
		{"demo elsewhere", inFile, []string{"demo", "URL=http://b.localhost"}, []string{"PUBLIC_URL=http://a.localhost"}, []string{"go run ./cmd/demo -url http://b.localhost"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := makeWith(t, test.file, test.args, test.env); !slices.Equal(got, test.want) {
				t.Errorf("make ran %q, want %q", got, test.want)
			}
		})
	}
}

// makeWith runs make where programs only note that they were called and with which settings, and returns what was noted,
// setting up aside that every run has.
func makeWith(t *testing.T, file string, args, env []string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"Makefile", "scripts/env"} {
		place(t, dir, name, string(readFile(t, name)))
	}
	note := "#!/bin/sh\necho \"$(basename \"$0\")"
	place(t, dir, "scripts/setup", note+" $*\" >>notes\n[ \"$1\" != node ]\n")
	place(t, dir, "bin/server", note+" $1 $APP_ENV $DATABASE_URL $HTTP_ADDR\" >>notes\n")
	place(t, dir, "path/go", note+" $*\" >>notes\n")
	place(t, dir, "path/npm", note+" $DATABASE_URL $HTTP_ADDR\" >>../notes\n")
	for _, name := range []string{"web/package.json", "web/package-lock.json", "web/node_modules/.package-lock.json", ".env"} {
		place(t, dir, name, map[string]string{".env": file}[name])
	}
	command := exec.CommandContext(t.Context(), "make", args...)
	command.Dir, command.Env = dir, append([]string{"PATH=" + filepath.Join(dir, "path") + ":" + os.Getenv("PATH")}, env...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make %q: %v\n%s", args, err, output)
	}
	notes, err := os.ReadFile(filepath.Join(dir, "notes"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(string(notes), "\n"), "\n"), func(note string) bool {
		return strings.HasPrefix(note, "setup go") || note == "setup node" || strings.HasPrefix(note, "go build")
	})
}

// place writes a program or a file below dir.
func place(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
