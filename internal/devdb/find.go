package devdb

import (
	"cmp"
	"errors"
	"fmt"
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
func Find() (Binaries, error) {
	return choose(installed(), 0)
}

// choose takes the first of a major version, 0 for any.
func choose(all []Binaries, major int) (Binaries, error) {
	for _, b := range all {
		if b.Major >= oldest && (major == 0 || b.Major == major) {
			return b, nil
		}
	}
	wanted := cmp.Or(major, oldest)
	if len(all) == 0 {
		return Binaries{}, fmt.Errorf("%w: run `%s`, or point DATABASE_URL at a server", ErrNotInstalled, installCommand(major))
	}
	return Binaries{}, fmt.Errorf("%w in version %d, only %s in %s: run `%s`, or point DATABASE_URL at a server",
		ErrNotInstalled, wanted, all[0].Version, all[0].Dir, installCommand(major))
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

// installed lists the installations of this machine in the order in which they are preferred.
func installed() []Binaries {
	var all []Binaries
	if path, err := exec.LookPath("postgres"); err == nil {
		all = append(all, inspect(path)...)
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres",
		"/opt/homebrew/opt/postgresql@*/bin/postgres", "/usr/local/opt/postgresql@*/bin/postgres",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin/postgres",
	} {
		all = append(all, matching(pattern)...)
	}
	return all
}

// matching lists what a pattern finds, the newest version first.
func matching(pattern string) []Binaries {
	paths, _ := filepath.Glob(pattern) // The only error is a malformed pattern.
	var found []Binaries
	for _, path := range paths {
		found = append(found, inspect(path)...)
	}
	slices.SortStableFunc(found, func(a, b Binaries) int { return cmp.Compare(b.Major, a.Major) })
	return found
}

// inspect reads the version of a postgres; none is returned for one that does not run or has no initdb beside it, as
// where only a client is installed. Links are followed: some systems put a link to postgres alone into PATH.
func inspect(path string) []Binaries {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(path)
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return nil
	}
	out, err := exec.Command(path, "--version").Output()
	version := strings.TrimSpace(string(out))
	major, ok := majorOf(version)
	if err != nil || !ok {
		return nil
	}
	return []Binaries{{Dir: dir, Version: version, Major: major}}
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
