package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAssets(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("console.log(1);\n", 100)
	assets, err := loadAssets(fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>")}, "assets/a-1.js": {Data: []byte(script)},
		".keep": {}, ".hidden/secret.txt": {Data: []byte("x")},
	})
	if err != nil || len(assets) != 2 {
		t.Fatalf("%d files were read, %v; want those that are not hidden", len(assets), err)
	}
	a := assets["assets/a-1.js"]
	ask := func(method string, header http.Header) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, "/", http.NoBody), httptest.NewRecorder()
		r.Header = header
		a.send(w, r, "no-cache")
		return w
	}
	whole := ask(http.MethodGet, http.Header{})
	if whole.Body.String() != script || whole.Header().Get("Content-Encoding") != "" || !strings.Contains(whole.Header().Get("Content-Type"), "javascript") {
		t.Errorf("sent %v", whole.Header())
	}
	small := ask(http.MethodGet, http.Header{"Accept-Encoding": {"br, gzip"}})
	if got := gunzip(t, small.Body.Bytes()); got != script || small.Header().Get("Content-Encoding") != "gzip" || small.Body.Len() >= len(script) {
		t.Errorf("sent %d bytes, %v", small.Body.Len(), small.Header())
	}
	if head := ask(http.MethodHead, http.Header{}); head.Body.Len() != 0 || head.Header().Get("Content-Length") != "1600" {
		t.Errorf("HEAD sent %d bytes, %v", head.Body.Len(), head.Header())
	}
	again := ask(http.MethodGet, http.Header{"If-None-Match": {whole.Header().Get("ETag")}})
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") == "" {
		t.Errorf("who has the file got %d and %d bytes", again.Code, again.Body.Len())
	}
	if other := ask(http.MethodGet, http.Header{"If-None-Match": {`"other"`}}); other.Code != http.StatusOK {
		t.Errorf("who has another file got %d", other.Code)
	}
	if assets["index.html"].gzipped != nil {
		t.Error("what is too short to compress was compressed")
	}
}

func gunzip(t *testing.T, data []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000, br": false, "*": true, "identity": false, "gzip;q=x": false,
	} {
		if got := takesGzip(header); got != want {
			t.Errorf("Accept-Encoding: %s takes gzip: %v, want %v", header, got, want)
		}
	}
	for header, want := range map[string]bool{"": false, `"a"`: true, `W/"a"`: true, `"b", W/"a"`: true, "*": true, `"ab"`: false} {
		if got := hasTag(header, `W/"a"`); got != want {
			t.Errorf("If-None-Match: %s has the tag: %v, want %v", header, got, want)
		}
	}
}
