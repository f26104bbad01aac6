package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// An asset is a file of the web build as it is sent: read, hashed and compressed once, when the server starts.
type asset struct {
	kind string
	// etag is weak, so that it holds for both encodings.
	etag          string
	body, gzipped []byte // gzipped is nil where it is no smaller
}

// loadAssets reads all files whose name and folders do not begin with a dot, by their path without a slash before it.
func loadAssets(files fs.FS) (map[string]asset, error) {
	assets := map[string]asset{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		body, err := fs.ReadFile(files, name)
		if err == nil {
			assets[name], err = newAsset(name, body)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read files of the page: %w", err)
	}
	return assets, nil
}

func newAsset(name string, body []byte) (asset, error) {
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = http.DetectContentType(body)
	}
	sum := sha256.Sum256(body)
	a := asset{kind: kind, etag: `W/"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return asset{}, err
	}
	if _, err := w.Write(body); err != nil {
		return asset{}, err
	}
	if err := w.Close(); err != nil {
		return asset{}, err
	}
	// Pictures and fonts are compressed already.
	if compressed.Len() < len(body)*9/10 {
		a.gzipped = compressed.Bytes()
	}
	return a, nil
}

// send answers with the file, or with 304 to whoever has it. It is sent whole: the files are small, and an answer about
// ranges would have another format than the rest.
func (a asset) send(w http.ResponseWriter, r *http.Request, cache string) {
	h := w.Header()
	h.Set("Cache-Control", cache)
	h.Set("ETag", a.etag)
	h.Add("Vary", "Accept-Encoding")
	if hasTag(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.body
	if a.gzipped != nil && takesGzip(r.Header.Get("Accept-Encoding")) {
		body = a.gzipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", a.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// hasTag compares weakly, as If-None-Match does (RFC 9110, section 13.1.2).
func hasTag(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// takesGzip reads Accept-Encoding: gzip is named, or all are, and not with a weight of zero.
func takesGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		value, weighed := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		q, err := strconv.ParseFloat(value, 64)
		return !weighed || err == nil && q > 0
	}
	return false
}
