package mobileclient_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a go command without a network and without what this checkout sets.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off", "GOWORK=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// program makes a module that uses the SDK of the module at path.
func program(t *testing.T, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	source := fmt.Sprintf("package main\n\nimport %q\n\nfunc main() {\n\tif _, err := mobileclient.New(\"http://localhost:8080\"); err != nil {\n\t\tpanic(err)\n\t}\n}\n", path+"/mobileclient")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "mod", "init", "program.example/app")
	return dir
}

// TestAProgramTakesTheSDKFromACheckout does what docs/sdk.md says of a fork before its rename.
func TestAProgramTakesTheSDKFromACheckout(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	path := run(t, checkout, "list", "-m")

	t.Run("replace", func(t *testing.T) {
		t.Parallel()
		dir := program(t, path)
		run(t, dir, "mod", "edit", "-require", path+"@v0.0.0", "-replace", path+"="+checkout)
		run(t, dir, "mod", "tidy")
		run(t, dir, "build", "-o", os.DevNull, ".")
		modules := strings.Fields(run(t, dir, "mod", "edit", "-print"))
		if n := strings.Count(strings.Join(modules, " "), "require"); n != 1 || strings.Contains(strings.Join(modules, " "), "require (") {
			t.Errorf("the program's go.mod has other requirements:\n%s", strings.Join(modules, " "))
		}
	})
	t.Run("workspace", func(t *testing.T) {
		t.Parallel()
		dir := program(t, path)
		run(t, dir, "work", "init", ".", checkout)
		run(t, dir, "build", "-o", os.DevNull, ".")
	})
}
