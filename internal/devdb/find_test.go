//go:build unix

package devdb

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []Binaries{{Dir: "/a", Version: "v13", Major: 13}, {Dir: "/b", Version: "v17", Major: 17}, {Dir: "/c", Version: "v15", Major: 15}}
	tests := []struct {
		name  string
		from  []Binaries
		major int
		want  string // the folder, or words of the error
	}{
		{"the first that is new enough", all, 0, "/b"},
		{"the version that made the data", all, 15, "/c"},
		{"nothing installed", nil, 0, "install"},
		{"only an old one", all[:1], 0, "in version 14 or newer, only v13 in /a"},
		{"not the version that made the data", all, 16, "in version 16, which made this data, only v13 in /a, v17 in /b, v15 in /c"},
		{"an old one made the data", all, 13, "in version 13"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := choose(slices.Values(tt.from), tt.major)
			if err == nil {
				if got.Dir != tt.want {
					t.Errorf("chose %+v, want %s", got, tt.want)
				}
				return
			}
			if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "`"+installCommand(tt.major)+"`") {
				t.Errorf("error is %q, want %q in it and the command that installs", err, tt.want)
			}
		})
	}
}

func TestMajorOf(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15,
		"postgres (PostgreSQL) 18beta1":                        18,
		"postgres (PostgreSQL) 9.6.24":                         9,
		"postgres (EnterpriseDB) 17.2":                         17,
		"something else":                                       0,
	} {
		if got, ok := majorOf(version); got != want || ok != (want > 0) {
			t.Errorf("major version of %q is %d, %t, want %d", version, got, ok, want)
		}
	}
}

func install(t *testing.T, dir, script string, programs ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	install(t, filepath.Join(root, "9"), "echo 'postgres (PostgreSQL) 9.6'", "postgres", "initdb")
	install(t, filepath.Join(root, "16"), "echo 'postgres (PostgreSQL) 16.4'", "postgres", "initdb")
	install(t, filepath.Join(root, "15"), "echo 'postgres (PostgreSQL) 15.1'", "postgres", "initdb")
	install(t, filepath.Join(root, "17-client"), "echo 'postgres (PostgreSQL) 17.1'", "postgres")
	install(t, filepath.Join(root, "18-broken"), "exit 1", "postgres", "initdb")
	var got []int
	for _, b := range matching(filepath.Join(root, "*", "postgres")) {
		got = append(got, b.Major)
	}
	if want := []int{16, 15, 9}; !slices.Equal(got, want) {
		t.Errorf("found versions %v, want %v", got, want)
	}
}

// The one in PATH goes first, and a link is followed to where initdb lies.
func TestFindPrefersPATH(t *testing.T) {
	root := t.TempDir()
	install(t, filepath.Join(root, "real"), "echo 'postgres (PostgreSQL) 99.1'", "postgres", "initdb")
	if err := os.MkdirAll(filepath.Join(root, "path"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "real", "postgres"), filepath.Join(root, "path", "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "path")+":"+os.Getenv("PATH"))
	got, err := Find()
	if err != nil || got.Major != 99 || filepath.Base(got.Dir) != "real" {
		t.Errorf("found %+v, %v", got, err)
	}
}
