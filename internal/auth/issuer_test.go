package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	testIssuerURL = "https://issuer.example"
	testAudience  = "api"
)

// start is a whole second, so that times in tokens equal the clock's.
func start() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

// A clock stands still until it is told otherwise.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// An issuer is an OIDC issuer as a transport: it answers without a network and counts what it is asked.
type issuer struct {
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetches int
	// down refuses connections, and failing answers 500, to everything.
	down, failing bool
	// metadata overrides the discovery document's fields.
	metadata map[string]any
	// hold, if set, delays key sets until it is closed.
	hold chan struct{}
	// token answers the token endpoint.
	token func(form url.Values) (status int, body map[string]any)
}

func newIssuer(tb testing.TB) *issuer {
	tb.Helper()
	return &issuer{keys: []jose.JSONWebKey{newTestKey(tb, "first")}}
}

func newTestKey(tb testing.TB, id string) jose.JSONWebKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: "ES256", Use: "sig"}
}

// RoundTrip implements http.RoundTripper.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	if i.hold != nil && r.URL.Path == "/keys" {
		<-i.hold
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.URL.Path == "/keys" {
		i.fetches++
	}
	switch {
	case i.down:
		return nil, errors.New("connection refused")
	case i.failing:
		return testResponse(r, http.StatusInternalServerError, map[string]any{"error": "server_error"}), nil
	}
	status, body := i.answer(r)
	return testResponse(r, status, body), nil
}

func (i *issuer) answer(r *http.Request) (status int, body any) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		return http.StatusOK, i.discovery()
	case "/keys":
		return http.StatusOK, i.public()
	case "/token":
		data, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(data))
		return i.token(form)
	}
	return http.StatusNotFound, map[string]any{}
}

func (i *issuer) discovery() map[string]any {
	document := map[string]any{
		"issuer": testIssuerURL, "authorization_endpoint": testIssuerURL + "/authorize",
		"token_endpoint": testIssuerURL + "/token", "jwks_uri": testIssuerURL + "/keys",
		"end_session_endpoint":                           testIssuerURL + "/logout?theme=dark",
		"id_token_signing_alg_values_supported":          []string{"ES256", "HS256", "none"},
		"authorization_response_iss_parameter_supported": true,
	}
	maps.Copy(document, i.metadata)
	return document
}

func (i *issuer) public() jose.JSONWebKeySet {
	var set jose.JSONWebKeySet
	for _, key := range i.keys {
		set.Keys = append(set.Keys, key.Public())
	}
	return set
}

func testResponse(r *http.Request, status int, body any) *http.Response {
	data, _ := json.Marshal(body)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)), Request: r,
	}
}

// set changes the issuer while others may use it.
func (i *issuer) set(change func(*issuer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(i)
}

func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// sign makes a token with the issuer's newest key.
func (i *issuer) sign(tb testing.TB, typ string, claims map[string]any) string {
	tb.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	return signWith(tb, jose.ES256, &i.keys[len(i.keys)-1], typ, claims)
}

func signWith(tb testing.TB, alg jose.SignatureAlgorithm, key any, typ string, claims map[string]any) string {
	tb.Helper()
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(typ))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	if err != nil {
		tb.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// goodClaims are those of an access token that is accepted at start.
func goodClaims() map[string]any {
	return map[string]any{
		"iss": testIssuerURL, "sub": "alice", "aud": testAudience, "client_id": "cli", "jti": "token-1",
		"iat": start().Unix(), "exp": start().Add(time.Hour).Unix(),
		"org_id": "acme", "org_name": "Acme", "name": "Alice", "email": "alice@acme.example", "roles": []string{"admin"},
	}
}

func goodConfig(i http.RoundTripper, now func() time.Time) Config {
	return Config{
		Issuer: testIssuerURL, ClientID: "web", ClientSecret: "secret", Audience: testAudience,
		Clients:   []string{"web", "mobile", "cli"},
		PublicURL: &url.URL{Scheme: "https", Host: "app.example"},
		Transport: i, Now: now,
	}
}

// newAuth is an Auth that has discovered its issuer. It has no database: a test that reaches it panics.
func newAuth(tb testing.TB, cfg Config) *Auth {
	tb.Helper()
	a, err := New(cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := a.discover(context.Background()); err != nil {
		tb.Fatal(err)
	}
	a.revocations.replace(nil) // Nothing is revoked.
	return a
}
