package house

import (
	"bytes"
	"path"
	"strings"
	"testing"
)

// maxPicture is the most bytes of a picture: a clone stays small.
const maxPicture = 80_000

// TestPicturesAreTheOnlyBinaries holds what a reviewer cannot read to a few small pictures of the page.
func TestPicturesAreTheOnlyBinaries(t *testing.T) {
	t.Parallel()
	for _, name := range sourceFiles(t) {
		content := readFile(t, name)
		if !bytes.ContainsRune(content, 0) {
			continue
		}
		if path.Dir(name) != "docs/images" || !strings.HasSuffix(name, ".png") {
			t.Errorf("%s is a binary: only docs/images may have pictures", name)
		}
		if len(content) > maxPicture {
			t.Errorf("%s has %d bytes, over the limit of %d", name, len(content), maxPicture)
		}
	}
}
