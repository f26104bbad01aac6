package house

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// root returns the folder of the module: two above this package's, where go test runs it.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// modulePath returns the module's path, which go.mod alone knows.
func modulePath(t *testing.T) string {
	t.Helper()
	return modfile.ModulePath(readFile(t, "go.mod"))
}

// readFile reads a file of the tree, named from its root.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// sourceFiles returns the files that belong to the project, named from its root: those that git tracks and those
// that it would if they were added. Without git, as in a tree that gonew has made, it is every file but for
// what builds write.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root(t), ".git")); err != nil {
		return walkedFiles(t)
	}
	// The checkout may belong to somebody else than runs the tests.
	command := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	command.Dir = root(t)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("list the files that git tracks: %v", err)
	}
	var names []string
	for name := range bytes.SplitSeq(bytes.TrimRight(output, "\x00"), []byte{0}) {
		// A file that is deleted and not yet committed is still listed.
		if info, err := os.Lstat(filepath.Join(root(t), string(name))); err == nil && info.Mode().IsRegular() {
			names = append(names, string(name))
		}
	}
	return names
}

func walkedFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(root(t)), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && built(name) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && (path.Dir(name) != "web/dist" || path.Base(name) == ".keep") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// built reports whether builds and runs write this folder; .gitignore names the same.
func built(name string) bool {
	return name == ".data" || name == "bin" || name == "web/dist/assets" || strings.HasSuffix(name, "node_modules")
}
