package house

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const forkPath = "example.org/x/app"

// TestForkIsRenamed makes a fork as README says, by make rename in a copy of the tree. Nothing changes but the path, so it
// builds as before if every import of it and of its tests is found; what the server says of itself is built, and is what it was.
func TestForkIsRenamed(t *testing.T) {
	t.Parallel()
	fork := renamedFork(t)
	mod, err := os.ReadFile(filepath.Join(fork, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(mod, []byte("module "+forkPath+"\n")) {
		t.Fatalf("go.mod of the fork does not begin with its path:\n%.200s", mod)
	}
	run(t, fork, nil, "go", "list", "-deps", "-test", "./...")
	run(t, fork, nil, "go", "test", "-vet=off", "./api", "./internal/openapi")
}

// TestGonewForkIsARenamedOne makes a fork as golang.org/x/tools/cmd/gonew does, from the module's zip: it is, file for file,
// the one that make rename gives. The module comes from a folder: no server and no checksum database is asked for it.
func TestGonewForkIsARenamedOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gonew := filepath.Join(dir, "gonew")
	run(t, root(t), nil, "go", "build", "-modfile=tools.mod", "-o", gonew, "golang.org/x/tools/cmd/gonew")

	released := writeProxy(t, filepath.Join(dir, "proxy"), copyTree(t))
	fork := filepath.Join(dir, "fork")
	run(t, dir, []string{
		"GOPROXY=file://" + filepath.ToSlash(filepath.Join(dir, "proxy")),
		"GOMODCACHE=" + filepath.Join(dir, "modules"),
		"GOFLAGS=-modcacherw",
		"GONOPROXY=none", "GOPRIVATE=", "GOSUMDB=off", "GOTOOLCHAIN=local",
	}, gonew, released.String(), forkPath, fork)
	made, renamed := contents(t, fork), contents(t, renamedFork(t))
	for _, name := range slices.Sorted(maps.Keys(renamed)) {
		if made[name] != renamed[name] {
			t.Errorf("%s of gonew's fork is not what make rename gives", name)
		}
	}
	if len(made) != len(renamed) {
		t.Errorf("gonew's fork has %d files, want %d", len(made), len(renamed))
	}
}

func renamedFork(t *testing.T) string {
	t.Helper()
	fork := copyTree(t)
	run(t, fork, nil, "make", "rename", "MODULE="+forkPath)
	return fork
}

// contents returns what the files below dir hold, by their names from there.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// copyTree copies the project's files, and nothing that builds have written, to a folder of its own.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range sourceFiles(t) {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, readFile(t, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// writeProxy lays the tree in source out in dir as a module proxy serves it, and returns the version that it made.
func writeProxy(t *testing.T, dir, source string) module.Version {
	t.Helper()
	released := module.Version{Path: modulePath(t), Version: releaseOf(t)}
	escaped, err := module.EscapePath(released.Path)
	if err != nil {
		t.Fatal(err)
	}
	versions := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, released, source); err != nil {
		t.Fatalf("make the module's zip: %v", err)
	}
	info, err := json.Marshal(map[string]string{"Version": released.Version})
	if err != nil {
		t.Fatal(err)
	}
	for suffix, content := range map[string][]byte{
		".info": info, ".mod": readFile(t, "go.mod"), ".zip": archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(versions, released.Version+suffix), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return released
}

// releaseOf returns a version that the module's path allows: a path that ends in /v2 asks for v2.
func releaseOf(t *testing.T) string {
	t.Helper()
	_, major, ok := module.SplitPathVersion(modulePath(t))
	if !ok {
		t.Fatalf("module path %s is not valid", modulePath(t))
	}
	if major == "" {
		return "v1.0.0"
	}
	return strings.TrimPrefix(major, "/") + ".0.0"
}

// run runs a command in dir and fails the test with its output if it fails. The environment is this one's, without
// what a make around this test has put into it, and with env after it.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "MFLAGS=", "GOFLAGS=-buildvcs=false")
	command.Env = append(command.Env, env...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
}
