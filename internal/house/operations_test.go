package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The metrics that docs/operations.md lists are those that there are: an alert on a name that is gone never fires.
func TestOperationsListsTheMetrics(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`"((?:http|ratelimit|auth)_[a-z_]+)"`)
	var there []string
	for _, found := range name.FindAllStringSubmatch(string(readFile(t, "internal/telemetry/metrics.go")), -1) {
		there = append(there, found[1])
	}
	listed := firstColumn(t, "metrics")
	for _, metric := range there {
		if !slices.Contains(listed, metric) {
			t.Errorf("docs/operations.md does not list the metric %s", metric)
		}
	}
	for _, metric := range listed {
		if !slices.Contains(there, metric) {
			t.Errorf("docs/operations.md lists the metric %s, which there is not", metric)
		}
	}
}

// The log lines that docs/operations.md explains are in the code, word for word.
func TestOperationsQuotesLogLines(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, name := range sourceFiles(t) {
		if strings.HasPrefix(name, "internal/") && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			code.Write(readFile(t, name))
		}
	}
	for _, line := range firstColumn(t, "log") {
		if !strings.Contains(code.String(), `"`+line+`"`) {
			t.Errorf("docs/operations.md explains the log line %q, which nothing logs", line)
		}
	}
}

// firstColumn returns what stands in the first column of the table between the page's marks of that name.
func firstColumn(t *testing.T, name string) []string {
	t.Helper()
	_, rest, begun := strings.Cut(string(readFile(t, "docs/operations.md")), "<!-- "+name+" -->\n")
	table, _, ended := strings.Cut(rest, "<!-- /"+name+" -->\n")
	var column []string
	for line := range strings.Lines(table) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			text, _, _ := strings.Cut(cell, "`")
			column = append(column, text)
		}
	}
	if !begun || !ended || len(column) == 0 {
		t.Fatalf("docs/operations.md lacks a table between its marks of %q", name)
	}
	return column
}
