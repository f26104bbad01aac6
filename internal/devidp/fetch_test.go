package devidp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

func TestFetchToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(b.provider) // a server under another name than the issuer's own
	t.Cleanup(server.Close)
	for _, person := range People() {
		raw, err := FetchToken(t.Context(), nil, server.URL+"/", person.ID)
		if err != nil {
			t.Fatal(err)
		}
		token, err := b.oidc.Verifier(&oidc.Config{ClientID: "api"}).Verify(b.ctx, raw)
		if err != nil || token.Subject != person.ID {
			t.Errorf("%s: %+v, %v", person.ID, token, err)
		}
	}
}

func TestFetchTokenFaults(t *testing.T) {
	t.Parallel()
	serve := func(handler http.HandlerFunc) string {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	limited := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	metadataOnly := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			writeJSON(w, http.StatusOK, map[string]string{"issuer": "x"})
			return
		}
		writeError(w, http.StatusServiceUnavailable, "temporarily_unavailable", "no database")
	}
	page := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!doctype html>")) }
	tests := []struct{ name, url, person, want string }{
		{"unknown person", gone.URL, "mallory", "alice, bob, carol, dave, root"},
		{"not a URL", "localhost:8080", "alice", "http://localhost:8080"},
		{"no server", gone.URL, "alice", "make run"},
		{"no issuer", serve(http.NotFound), "alice", "OIDC_ISSUER"},
		{"a page for everything", serve(page), "alice", "OIDC_ISSUER"},
		{"limited", serve(limited), "alice", "17 s"},
		{"no database", serve(metadataOnly), "alice", "no database"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := FetchToken(t.Context(), nil, test.url, test.person); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Path", r.RequestURI)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("in process"))
	})
	b := &testBundle{client: &http.Client{Transport: Transport(testIssuer, handler, noNetwork{})}}
	status, header, body := b.get(t, testIssuer+"/keys?a=b")
	if status != http.StatusTeapot || header.Get("X-Path") != Path+"/keys?a=b" || body != "in process" {
		t.Errorf("got %d, %q, %q", status, header.Get("X-Path"), body)
	}
	for _, other := range []string{
		"http://localhost:8081/dev/idp/keys", "https://localhost:8080/dev/idp/keys", "http://localhost:8080/dev/idpx/keys", "http://localhost:8080/api",
	} {
		resp, err := b.client.Get(other)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s was answered in process", other)
		}
	}
}

func TestTransportCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() })
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, testIssuer+"/keys", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Transport(testIssuer, handler, noNetwork{}).RoundTrip(r)
	if err == nil {
		resp.Body.Close()
		t.Error("a cancelled request got an answer")
	}
}
