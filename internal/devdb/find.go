package devdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// oldest is the oldest major version whose SQL the migrations may use.
const oldest = 14

// ErrNotInstalled is what Find wraps when this machine has no usable PostgreSQL.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// Find returns the PostgreSQL to use: the one in PATH, else the newest where Debian, Red Hat or Homebrew put it. The error
// says how to install it.
func Find() (Binaries, error) { return choose(installed(), 0) }

// choose takes the first of a major version, 0 for any that is new enough.
func choose(all iter.Seq[Binaries], major int) (Binaries, error) {
	var others []string
	for b := range all {
		if b.Major >= oldest && (major == 0 || b.Major == major) {
			return b, nil
		}
		others = append(others, b.Version+" in "+b.Dir)
	}
	advice := "run `" + installCommand(major) + "`, or point DATABASE_URL at a server"
	switch {
	case len(others) == 0:
		return Binaries{}, fmt.Errorf("%w: %s", ErrNotInstalled, advice)
	case major > 0:
		return Binaries{}, fmt.Errorf("%w in version %d, which made this data, only %s: %s", ErrNotInstalled, major, strings.Join(others, ", "), advice)
	}
	return Binaries{}, fmt.Errorf("%w in version %d or newer, only %s: %s", ErrNotInstalled, oldest, strings.Join(others, ", "), advice)
}

// installCommand is what a person would type on this machine.
func installCommand(major int) string {
	suffix := ""
	if major > 0 {
		suffix = "-" + strconv.Itoa(major)
	}
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@" + strconv.Itoa(cmp.Or(major, 17))
	}
	for command, install := range map[string]string{
		"apt-get": "apt-get install -y postgresql" + suffix,
		"dnf":     "dnf install -y postgresql-server",
		"apk":     "apk add postgresql",
		"pacman":  "pacman -S postgresql",
	} {
		if _, err := exec.LookPath(command); err == nil {
			return sudo() + install
		}
	}
	return "apt-get install -y postgresql" + suffix
}

func sudo() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return "sudo "
}

// installed yields the installations of this machine in the order in which they are preferred. It runs each to ask its
// version, so whoever has found one stops.
func installed() iter.Seq[Binaries] {
	return func(yield func(Binaries) bool) {
		if path, err := exec.LookPath("postgres"); err == nil {
			if b, ok := inspect(path); ok && !yield(b) {
				return
			}
		}
		for _, pattern := range places() {
			for _, b := range matching(pattern) {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// places are where the packages of Debian, Red Hat and Homebrew lie.
func places() []string {
	return []string{
		"/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres",
		"/opt/homebrew/opt/postgresql@*/bin/postgres", "/usr/local/opt/postgresql@*/bin/postgres",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin/postgres",
	}
}

// matching lists what a pattern finds, the newest version first.
func matching(pattern string) []Binaries {
	paths, _ := filepath.Glob(pattern) // The only error is a malformed pattern.
	var found []Binaries
	for _, path := range paths {
		if b, ok := inspect(path); ok {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b Binaries) int { return cmp.Compare(b.Major, a.Major) })
	return found
}

// inspect reads the version of a postgres, unless it does not run or has no initdb beside it. Links are followed: some systems put a link to postgres alone into PATH.
func inspect(path string) (Binaries, bool) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Binaries{}, false
	}
	dir := filepath.Dir(path)
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return Binaries{}, false
	}
	out, err := exec.CommandContext(context.Background(), path, "--version").Output() // It answers at once or not at all.
	version := strings.TrimSpace(string(out))
	major, ok := majorOf(version)
	return Binaries{Dir: dir, Version: version, Major: major}, err == nil && ok
}

// majorOf reads "postgres (PostgreSQL) 17.2 (Debian 17.2-1)" and "postgres (PostgreSQL) 18beta1".
func majorOf(version string) (int, bool) {
	number := regexp.MustCompile(`\) (\d+)`).FindStringSubmatch(version)
	if number == nil {
		return 0, false
	}
	major, err := strconv.Atoi(number[1])
	return major, err == nil
}
