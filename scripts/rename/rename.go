package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// rename gives the module in dir, and the modules nested in it, the path newPath, and returns how many files it
// changed. It reads and rewrites all of them in memory before it writes the first, so that a file that cannot be
// parsed leaves the tree as it was. A second run with the same path changes nothing.
func rename(dir, newPath string) (int, error) {
	if err := checkPath(newPath); err != nil {
		return 0, err
	}
	oldPath, err := modulePath(dir)
	if err != nil {
		return 0, err
	}
	rewritten, err := rewriteTree(dir, mover{from: oldPath, to: newPath})
	if err != nil {
		return 0, err
	}
	for name, content := range rewritten {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return 0, fmt.Errorf("write imports: %w", err)
		}
	}
	return len(rewritten), nil
}

// checkPath says what is wrong with a module path. It asks for one that others can fetch, with a dot in its first
// element, since a fork's SDK is imported by that path.
func checkPath(path string) error {
	if strings.Contains(path, "://") {
		return fmt.Errorf("module path %q: leave out %q, a module path has no scheme", path, path[:strings.Index(path, "://")+3])
	}
	if err := module.CheckPath(path); err != nil {
		return fmt.Errorf("%w (a module path looks like example.org/you/app)", err)
	}
	return nil
}

func modulePath(dir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read the present module path: %w", err)
	}
	path := modfile.ModulePath(content)
	if path == "" {
		return "", fmt.Errorf("read the present module path: %s has no module line", filepath.Join(dir, "go.mod"))
	}
	return path, nil
}

// rewriteTree returns the new content of each file that changes, by name.
func rewriteTree(dir string, paths mover) (map[string][]byte, error) {
	rewritten := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != dir && foreign(entry.Name()) {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		return rewriteFile(name, paths, rewritten)
	})
	if err != nil {
		return nil, fmt.Errorf("rewrite imports: %w", err)
	}
	return rewritten, nil
}

// foreign reports whether a folder of this name holds other people's files, or none that Go reads.
func foreign(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

func rewriteFile(name string, paths mover, rewritten map[string][]byte) error {
	rewrite := rewriteGo
	if filepath.Base(name) == "go.mod" {
		rewrite = rewriteMod
	} else if filepath.Ext(name) != ".go" {
		return nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	moved, err := rewrite(name, content, paths)
	if err != nil {
		return err
	}
	if !bytes.Equal(content, moved) {
		rewritten[name] = moved
	}
	return nil
}

// rewriteGo moves the imports of one Go file and sorts them anew, since the new path may belong elsewhere.
func rewriteGo(name string, content []byte, paths mover) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	moved := slices.Clone(content)
	for _, spec := range slices.Backward(file.Imports) {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		if next, ok := paths.move(path); ok {
			start, end := files.Position(spec.Path.Pos()).Offset, files.Position(spec.Path.End()).Offset
			moved = slices.Replace(moved, start, end, []byte(strconv.Quote(next))...)
		}
	}
	if bytes.Equal(content, moved) {
		return content, nil
	}
	formatted, err := format.Source(moved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return formatted, nil
}

// rewriteMod moves a go.mod file's own path and what it requires or replaces of this project.
func rewriteMod(name string, content []byte, paths mover) ([]byte, error) {
	mod, err := modfile.Parse(name, content, nil)
	if err != nil {
		return nil, err
	}
	if mod.Module == nil {
		return content, nil
	}
	own, ok := paths.move(mod.Module.Mod.Path)
	if !ok {
		return content, nil
	}
	if err := mod.AddModuleStmt(own); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := moveRequirements(mod, paths); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return mod.Format()
}

func moveRequirements(mod *modfile.File, paths mover) error {
	for _, require := range slices.Clone(mod.Require) {
		next, ok := paths.move(require.Mod.Path)
		if !ok {
			continue
		}
		mod.AddNewRequire(next, require.Mod.Version, require.Indirect)
		if err := mod.DropRequire(require.Mod.Path); err != nil {
			return err
		}
	}
	for _, replace := range slices.Clone(mod.Replace) {
		next, ok := paths.move(replace.Old.Path)
		if !ok {
			continue
		}
		if err := mod.AddReplace(next, replace.Old.Version, replace.New.Path, replace.New.Version); err != nil {
			return err
		}
		if err := mod.DropReplace(replace.Old.Path, replace.Old.Version); err != nil {
			return err
		}
	}
	mod.Cleanup()
	return nil
}

// A mover knows the module's present path and its next one.
type mover struct{ from, to string }

// move returns where an import path goes, and whether it goes anywhere: only the module and what lies below it does.
func (m mover) move(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, m.from)
	if !ok || (rest != "" && rest[0] != '/') || m.from == m.to {
		return path, false
	}
	return m.to + rest, true
}
