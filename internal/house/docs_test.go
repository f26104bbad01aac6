package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Pages that say where something is tested, and where something lies, name what there is.
func TestDocsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	test, place := regexp.MustCompile("`(Test[A-Z]\\w*)`"), regexp.MustCompile("`((?:api|cmd|db|deploy|internal|mobileclient|scripts|web)/[\\w./-]+)`")
	var tests strings.Builder
	for _, name := range sourceFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			tests.Write(readFile(t, name))
		}
	}
	for _, page := range []string{"docs/forking.md", "docs/security.md", "docs/operations.md"} {
		text := string(readFile(t, page))
		for _, found := range test.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(tests.String(), "func "+found[1]+"(") {
				t.Errorf("%s names the test %s, which there is not", page, found[1])
			}
		}
		for _, found := range place.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%s names %s, which there is not", page, found[1])
			}
		}
	}
}
