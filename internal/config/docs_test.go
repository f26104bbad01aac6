package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the README's settings table and .env.example anew")

// The README holds the table between these lines; the rest of it is written by hand.
const (
	tableBegin = "<!-- settings -->\n"
	tableEnd   = "<!-- /settings -->\n"
)

var root = filepath.Join("..", "..")

func TestEnvExampleIsTheTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, ".env.example")
	want := envExample(settings(new(Config)))
	if *update {
		write(t, path, want)
	}
	if got := contents(t, path); got != want {
		t.Errorf(".env.example is out of date: run `make generate`")
	}
}

func TestREADMEHoldsTheTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, "README.md")
	got := contents(t, path)
	before, rest, begun := strings.Cut(got, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("README.md lacks the lines %q and %q around its settings table", tableBegin, tableEnd)
	}
	want := before + tableBegin + markdown(settings(new(Config))) + tableEnd + after
	if *update {
		write(t, path, want)
		return
	}
	if got != want {
		t.Errorf("the settings table of README.md is out of date: run `make generate`")
	}
}

func markdown(settings []setting) string {
	var b strings.Builder
	b.WriteString("| setting | default | what it is |\n|---|---|---|\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.name, s.defaults(), s.about)
	}
	return b.String()
}

func envExample(settings []setting) string {
	var b strings.Builder
	b.WriteString("# Every setting with its default, as `make generate` writes it. Copy it to .env and remove the # of a line to set it:\n" +
		"# `make run`, `make dev` and `make demo` read .env; for others: bash scripts/env COMMAND. A value is taken as it stands, without\n" +
		"# expansions; what is in the environment goes before what is in .env.\n" +
		"# Defaults are those of production; where development has another, it is named.\n")
	for _, s := range settings {
		fmt.Fprintf(&b, "\n# %s\n", strings.ReplaceAll(s.about, "`", ""))
		if s.development != "" {
			fmt.Fprintf(&b, "# In development: %s\n", s.development)
		}
		fmt.Fprintf(&b, "#%s=%s\n", s.name, s.standard)
	}
	return b.String()
}

// defaults is the cell of the table.
func (s setting) defaults() string {
	standard := "–"
	if s.standard != "" {
		standard = "`" + s.standard + "`"
	}
	if s.development == "" {
		return standard
	}
	return standard + "; development `" + s.development + "`"
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
