package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"example.com/gatehouse/api"
)

// A body that would have to be decoded before it can be read is refused, and so is one of another media type.
func TestCheckKind(t *testing.T) {
	t.Parallel()
	const isJSON = "application/json"
	for name, c := range map[string]struct {
		kind      string
		encodings []string
		want      string // what the detail says; empty: the body is read
	}{
		"JSON":               {isJSON, nil, ""},
		"in UTF-8":           {isJSON + "; charset=utf-8", nil, ""},
		"in UTF-8, capitals": {isJSON + `; Charset="UTF-8"`, nil, ""},
		"as it is":           {isJSON, []string{"Identity"}, ""},
		"in Latin 1":         {isJSON + "; charset=latin1", nil, "charset=utf-8"},
		"in no charset":      {isJSON + `; charset=""`, nil, "charset=utf-8"},
		"compressed":         {isJSON, []string{"gzip"}, "without a Content-Encoding"},
		"compressed twice":   {isJSON, []string{"identity", "br"}, "without a Content-Encoding"},
		"a form":             {isForm, nil, "Content-Type: application/json."},
		"nothing":            {"", nil, "Content-Type: application/json."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkKind(http.Header{"Content-Type": {c.kind}, "Content-Encoding": c.encodings}, isJSON)
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if f := failureOf(err); f.code != api.CodeUnsupportedMediaType || !strings.Contains(f.detail, c.want) {
				t.Errorf("got %s %q, want %q", f.code, f.detail, c.want)
			}
		})
	}
}

// An issuer's form is read whatever charset it names, but not compressed.
func TestCheckKindOfForms(t *testing.T) {
	t.Parallel()
	header := http.Header{"Content-Type": {isForm + "; charset=ISO-8859-1"}}
	if err := checkKind(header, isForm); err != nil {
		t.Errorf("with a charset: %v", err)
	}
	header.Set("Content-Encoding", "gzip")
	if f := failureOf(checkKind(header, isForm)); f.code != api.CodeUnsupportedMediaType {
		t.Errorf("compressed: %q", f.code)
	}
}
