package devidp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

const (
	testPublic   = "http://localhost:8080"
	testIssuer   = testPublic + Path
	testSecret   = "s3cret with spaces & signs"
	testCallback = testPublic + "/api/v1/auth/callback"
)

// A testBundle is an issuer and an independent client of it: go-oidc and oauth2, over the in-process transport.
type testBundle struct {
	provider *Provider
	client   *http.Client
	ctx      context.Context //nolint:containedctx // it carries the client, as go-oidc has it
	oidc     *oidc.Provider
}

func newProvider(tb testing.TB, s *store.Store) *Provider {
	tb.Helper()
	public, err := url.Parse(testPublic)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := New(Config{Issuer: testIssuer, Audience: "api", Clients: DefaultClients(public, testSecret)}, s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// signingKey is made once for all tests: making one takes longer than any of them.
var signingKey = sync.OnceValues(NewKey)

// newStore is a database with a signing key.
func newStore(tb testing.TB) *store.Store {
	tb.Helper()
	s := storetest.New(tb)
	if _, err := s.IDPKeys(tb.Context(), KeyRules(signingKey)); err != nil {
		tb.Fatal(err)
	}
	return s
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{provider: newProvider(t, newStore(t))}
	b.client = inProcess(b.provider)
	b.ctx = oidc.ClientContext(t.Context(), b.client)
	var err error
	if b.oidc, err = oidc.NewProvider(b.ctx, testIssuer); err != nil {
		t.Fatal(err)
	}
	return b
}

// inProcess is a client that reaches the issuer and nothing else, and follows no redirects.
func inProcess(p *Provider) *http.Client {
	return &http.Client{
		Transport:     Transport(testIssuer, p, noNetwork{}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type noNetwork struct{}

func (noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, errors.New("no network: " + r.URL.String())
}

// config is the client's side of oauth2.
func (b *testBundle) config(client, redirect string, scopes ...string) *oauth2.Config {
	c := &oauth2.Config{ClientID: client, RedirectURL: redirect, Scopes: scopes, Endpoint: b.oidc.Endpoint()}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	if client == "web" {
		c.ClientSecret, c.Endpoint.AuthStyle = testSecret, oauth2.AuthStyleInHeader
	}
	return c
}

// pick opens the page, picks a person as its form would, and returns what the browser is sent back with.
func (b *testBundle) pick(t *testing.T, target, person string) url.Values {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, page := b.get(t, target); status != http.StatusOK || !strings.Contains(page, `value="`+person+`"`) {
		t.Fatalf("the page answers %d without %s", status, person)
	}
	values := u.Query()
	values.Set("person", person)
	status, header, body := b.post(t, "/authorize", values)
	if status != http.StatusSeeOther {
		t.Fatalf("picking %s answers %d: %s", person, status, body)
	}
	back, err := url.Parse(header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

func (b *testBundle) get(t *testing.T, target string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return b.do(t, r)
}

func (b *testBundle) post(t *testing.T, path string, values url.Values) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, testIssuer+path, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(t, r)
}

func (b *testBundle) do(t *testing.T, r *http.Request) (int, http.Header, string) {
	t.Helper()
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

// A walk is a code flow up to its tokens.
type walk struct {
	config   *oauth2.Config
	verifier string
	code     string
	tokens   *oauth2.Token
}

// signIn walks the code flow as a client and returns everything that came of it.
func (b *testBundle) signIn(t *testing.T, config *oauth2.Config, person string) walk {
	t.Helper()
	w := walk{config: config, verifier: oauth2.GenerateVerifier()}
	target := config.AuthCodeURL("the-state", oidc.Nonce("the-nonce"), oauth2.S256ChallengeOption(w.verifier))
	back := b.pick(t, target, person)
	if back.Get("state") != "the-state" || back.Get("iss") != testIssuer {
		t.Fatalf("sent back with %v", back)
	}
	w.code = back.Get("code")
	var err error
	if w.tokens, err = config.Exchange(b.ctx, w.code, oauth2.VerifierOption(w.verifier)); err != nil {
		t.Fatal(err)
	}
	return w
}

// refused says whether err is the token endpoint's refusal with this code.
func refused(err error, code string) bool {
	refusal, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && refusal.ErrorCode == code
}

func within(d, want time.Duration) bool { return d > want-time.Minute && d <= want }
