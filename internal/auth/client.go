package auth

import (
	"cmp"
	"net/http"
	"time"
)

const (
	// issuerTimeout bounds each request to the issuer, body included. Nothing else does: go-oidc's key fetches run on a
	// context that is never cancelled.
	issuerTimeout = 5 * time.Second
	// maxIssuerBody is the largest answer of the issuer that is read, in bytes. Key sets and discovery documents are a
	// few KiB; go-oidc reads whatever comes.
	maxIssuerBody = 1 << 20
)

// newClient makes the client for all requests to the issuer. It follows no redirects: the issuer's addresses are exact,
// and a redirect of a token request would carry the client's secret elsewhere.
func newClient(next http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:   issuerTimeout,
		Transport: boundedTransport{cmp.Or(next, http.DefaultTransport)},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// boundedTransport fails the reading of an answer that is too large.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxIssuerBody)
	return resp, nil
}
