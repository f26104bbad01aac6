package devidp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Transport answers requests below a URL from its handler, in this process, and sends all others to next. So the server
// reaches the issuer, and the issuer the server, under the URLs that browsers use, whatever those names mean where the
// server runs, and before its own listener is up.
func Transport(baseURL string, handler http.Handler, next http.RoundTripper) http.RoundTripper {
	base, err := url.Parse(baseURL)
	if err != nil {
		return next
	}
	return &transport{base: base, handler: handler, next: next}
}

type transport struct {
	base    *url.URL
	handler http.Handler
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.isBelow(r.URL) {
		return t.next.RoundTrip(r)
	}
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	out := &response{header: http.Header{}}
	t.handler.ServeHTTP(out, in)
	return out.result(r), r.Context().Err()
}

func (t *transport) isBelow(u *url.URL) bool {
	return u.Scheme == t.base.Scheme && strings.EqualFold(u.Host, t.base.Host) &&
		strings.HasPrefix(u.Path, strings.TrimSuffix(t.base.Path, "/")+"/")
}

// A response collects what the handler writes.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader keeps the first status.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *response) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

func (w *response) result(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}
}
