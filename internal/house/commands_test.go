package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every test is every test: Go's, the page's and those in a browser. Continuous integration gets ready what they stand on.
func TestMakeTestRunsEveryTest(t *testing.T) {
	t.Parallel()
	recipe := firstMatch(t, "Makefile", `(?m)^test:.*\n((?:\t.*\n)+)`)
	for _, want := range []string{"go test -race", " ./...", " test-web\n", " e2e\n"} {
		if !strings.Contains(recipe, want) {
			t.Errorf("make test lacks %q", want)
		}
	}
	ready := strings.Fields(firstMatch(t, ".ci/run", `(?m)^\s*bash scripts/setup (.+)$`))
	needs := regexp.MustCompile(`scripts/setup (.+)`).FindStringSubmatch(recipe)
	if needs == nil {
		t.Fatal("make test sets nothing up")
	}
	for need := range strings.FieldsSeq(needs[1]) {
		if !slices.Contains(ready, need) {
			t.Errorf(".ci/run does not set up %s, which make test needs", need)
		}
	}
}
