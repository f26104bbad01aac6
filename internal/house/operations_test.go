package house

import (
	"strings"
	"testing"
)

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
