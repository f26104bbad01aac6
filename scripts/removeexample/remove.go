package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// own is the folder of this program, which goes with the rest.
	own     = "scripts/removeexample"
	webList = "web/example.txt"
)

// A list names files and folders that go whole, relative to base.
type list struct{ name, base string }

func lists() []list {
	return []list{{own + "/example.txt", "."}, {webList, "web"}}
}

// An outcome says what was done.
type outcome struct {
	gone, changed int // Files.
	migration     string
}

func (o outcome) String() string {
	return fmt.Sprintf("The example is removed: %d files are gone, %d have changed, and %s drops its tables.", o.gone, o.changed, o.migration)
}

// remove takes the example out of the tree in dir. Everything is read and checked before the first file is written, so
// that an error leaves the tree as it was.
func remove(ctx context.Context, dir string) (outcome, error) {
	files, err := committed(ctx, dir)
	if err != nil {
		return outcome{}, err
	}
	listed, err := readLists(dir)
	if err != nil {
		return outcome{}, err
	}
	listed = append(listed, own, webList)
	gone := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return !within(name, listed) })
	changed, err := stripAll(dir, slices.DeleteFunc(files, func(name string) bool { return slices.Contains(gone, name) }))
	if err != nil {
		return outcome{}, err
	}
	name, migration, err := dropTables(dir)
	if err != nil {
		return outcome{}, err
	}
	done := outcome{gone: len(gone), changed: len(changed), migration: name}
	changed[name] = migration
	return done, apply(dir, changed, listed)
}

// committed returns the names of the tree's files, if nothing would be lost by changing them.
func committed(ctx context.Context, dir string) ([]string, error) {
	status, err := git(ctx, dir, "status", "--porcelain")
	if err != nil {
		return nil, fmt.Errorf("%w: this works on a git repository, so that you see what it did and can go back: git init && git add --all && git commit", err)
	}
	if len(status) > 0 {
		return nil, fmt.Errorf("the work tree has changes that are not committed: commit them or git stash them first, so that you can go back\n%s", status)
	}
	names, err := git(ctx, dir, "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(names), func(c rune) bool { return c == 0 }), nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", args...) //nolint:gosec // Of this program's own arguments.
	command.Dir = dir
	var faults bytes.Buffer
	command.Stderr = &faults
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(faults.Bytes()))
	}
	return output, nil
}

// readLists returns what goes whole, and says which of it is not there.
func readLists(dir string) ([]string, error) {
	var listed []string
	var missing []error
	for _, list := range lists() {
		content, err := os.ReadFile(filepath.Join(dir, list.name))
		if errors.Is(err, os.ErrNotExist) && list.name == webList {
			continue // The page may be another one.
		}
		if err != nil {
			return nil, fmt.Errorf("read what to remove: %w", err)
		}
		for _, entry := range entries(string(content)) {
			entry = path.Join(list.base, entry)
			if _, err := os.Lstat(filepath.Join(dir, entry)); err != nil {
				missing = append(missing, fmt.Errorf("%s lists %s, which is not there: take it off the list, or bring it back", list.name, entry))
			}
			listed = append(listed, entry)
		}
	}
	return listed, errors.Join(missing...)
}

// entries are the lines of a list without its comments.
func entries(list string) []string {
	var entries []string
	for line := range strings.Lines(list) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			entries = append(entries, line)
		}
	}
	return entries
}

// within says whether a file is one of the paths or lies below one.
func within(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// stripAll returns the new content of each file that has marks, by name, or the faults of all.
func stripAll(dir string, names []string) (map[string]string, error) {
	changed := map[string]string{}
	var faults []error
	for _, name := range names {
		before, err := readText(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("look for marks: %w", err)
		}
		after, marked, err := strip(before)
		if err == nil && marked && filepath.Ext(name) == ".go" {
			after, err = tidy(name, before, after)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: example marks: %w", name, err))
		} else if marked {
			changed[name] = after
		}
	}
	return changed, errors.Join(faults...)
}

// readText returns what a file says; of a picture, a link or a nested repository, that is nothing.
func readText(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	content, err := os.ReadFile(name)
	if err != nil || !utf8.Valid(content) {
		return "", err
	}
	return string(content), nil
}

// apply writes and deletes.
func apply(dir string, changed map[string]string, gone []string) error {
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		mode := os.FileMode(0o644)
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			mode = info.Mode()
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed[name]), mode); err != nil {
			return fmt.Errorf("write what stays: %w", err)
		}
	}
	for _, name := range gone {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("remove the example: %w", err)
		}
	}
	return nil
}
