package app_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/gatehouse/internal/app"
	"example.com/gatehouse/internal/servertest"
)

// runAsServer makes the test binary be the program, for tests that need it as a process of its own.
const runAsServer = "RUN_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(runAsServer) == "" {
		os.Exit(m.Run())
	}
	if err := app.Run(context.Background(), os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// A stop of the tour: a command, and what the README says that it prints; "…" stands for anything on its line.
type stop struct{ command, prints string }

// The README's tour, typed as printed, gives what the README prints.
func TestTour(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stops := readTour(t)
	var script strings.Builder
	for _, stop := range stops {
		command := strings.ReplaceAll(stop.command, "bin/server token alice", fmt.Sprintf("%s=1 %s token alice -url %s", runAsServer, self, s.URL))
		fmt.Fprintf(&script, "%s\necho '%s'\n", strings.ReplaceAll(command, "http://localhost:8080", s.URL), separator)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script.String())
	var out, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &faults)
	}
	outputs := strings.Split(strings.ReplaceAll(out.String(), "\r", ""), separator+"\n")
	for i, stop := range stops {
		if !matches(stop.prints, outputs[i]) {
			t.Errorf("$ %s\nprinted\n%s\nthe README says\n%s", stop.command, outputs[i], stop.prints)
		}
	}
}

const separator = "-- end of the stop --"

func readTour(t *testing.T) []stop {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "<!-- tour -->\n")
	tour, _, ended := strings.Cut(rest, "<!-- /tour -->\n")
	if !ended {
		t.Fatal("README.md has no tour between its markers")
	}
	var stops []stop
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(tour, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				stops = append(stops, stop{command: strings.TrimSuffix(command, "\n")})
				continue
			}
			stops[len(stops)-1].prints += line
		}
	}
	if len(stops) < 5 {
		t.Fatalf("the tour has only %d stops", len(stops))
	}
	return stops
}

func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, "[^\n]*") + "$").MatchString(text)
}
