package devidp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Transport answers requests for the issuer from its handler, in this process, and sends all others to next. So the
// server reaches the issuer under the URL that browsers use, whatever that name means where the server runs, and
// before its own listener is up.
func Transport(issuerURL string, handler http.Handler, next http.RoundTripper) http.RoundTripper {
	issuer, err := url.Parse(issuerURL)
	if err != nil {
		return next
	}
	return &transport{issuer: issuer, handler: handler, next: next}
}

type transport struct {
	issuer  *url.URL
	handler http.Handler
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.isIssuer(r.URL) {
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

func (t *transport) isIssuer(u *url.URL) bool {
	return u.Scheme == t.issuer.Scheme && strings.EqualFold(u.Host, t.issuer.Host) &&
		strings.HasPrefix(u.Path, t.issuer.Path+"/")
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
