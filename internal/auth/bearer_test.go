package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// TestBadAccessTokens sends each attack the whole way. The Auth has no database, so that a token which got past the
// checks would panic.
func TestBadAccessTokens(t *testing.T) {
	t.Parallel()
	changed := func(change func(c map[string]any)) func(*testing.T, *issuer) string {
		return func(t *testing.T, i *issuer) string {
			t.Helper()
			claims := goodClaims()
			change(claims)
			return i.sign(t, "at+jwt", claims)
		}
	}
	without := func(name string) func(*testing.T, *issuer) string {
		return changed(func(c map[string]any) { delete(c, name) })
	}
	with := func(name string, value any) func(*testing.T, *issuer) string {
		return changed(func(c map[string]any) { c[name] = value })
	}
	tests := []struct {
		name  string
		token func(*testing.T, *issuer) string
	}{
		{"alg none", unsigned("")},
		{"alg none with a signature", unsigned("c2ln")},
		{"HS256 with the public key", hs256},
		{"signed by another's key of the same id", anotherKey},
		{"claims changed after signing", tampered},
		{"expired", with("exp", start().Add(-31*time.Second).Unix())},
		{"no exp", without("exp")},
		{"not valid yet", with("nbf", start().Add(31*time.Second).Unix())},
		{"issued in the future", with("iat", start().Add(31*time.Second).Unix())},
		{"issued in ten hours", with("iat", start().Add(10*time.Hour).Unix())},
		{"issued more than a day ago", with("iat", start().Add(-24*time.Hour-31*time.Second).Unix())},
		{"no iat", without("iat")},
		{"iat that is no number", with("iat", "now")},
		{"no jti", without("jti")},
		{"no sub", without("sub")},
		{"sub with a NUL", with("sub", "alice\x00")},
		{"sub of 256 bytes", with("sub", strings.Repeat("a", 256))},
		{"no audience", without("aud")},
		{"another audience", with("aud", "other-api")},
		{"the web client as audience", with("aud", "web")},
		{"another client", with("client_id", "stranger")},
		{"another azp beside a good client_id", with("azp", "stranger")},
		{"no client", without("client_id")},
		{"another issuer", with("iss", "https://evil.example")},
		{"organisation that is no string", with("org_id", 7)},
		{"organisation that is empty", with("org_id", "")},
		{"an ID token", typed("JWT")},
		{"a logout token", typed("logout+jwt")},
		{"no type", typed("")},
		{"an ID token that says at+jwt", with("nonce", "n")},
		{"an ID token with at_hash that says at+jwt", with("at_hash", "h")},
		{"a logout token that says at+jwt", with("events", map[string]any{"backchannel": map[string]any{}})},
		{"Keycloak's ID token", with("typ", "ID")},
		{"Keycloak's refresh token", with("typ", "Refresh")},
		{"a token of 1 MB", with("name", strings.Repeat("a", 1<<20))},
		{"three parts of nothing", func(*testing.T, *issuer) string { return "a.b.c" }},
		{"not a token", func(*testing.T, *issuer) string { return "garbage" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			a := newAuth(t, goodConfig(i, newClock().Now))
			if err := present(t, a, test.token(t, i)); !errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnavailable) {
				t.Errorf("got %v, want ErrInvalid alone", err)
			}
		})
	}
}

// present sends a token as a client would.
func present(t *testing.T, a *Auth, token string) error {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	credential, err := a.Credential(r)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Authenticate(t.Context(), credential)
	return err
}

// unsigned makes a token that says it needs no signature.
func unsigned(signature string) func(*testing.T, *issuer) string {
	return func(t *testing.T, _ *issuer) string {
		t.Helper()
		payload, err := json.Marshal(goodClaims())
		if err != nil {
			t.Fatal(err)
		}
		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`))
		return header + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + signature
	}
}

// typed makes a good token of another type.
func typed(typ string) func(*testing.T, *issuer) string {
	return func(t *testing.T, i *issuer) string {
		t.Helper()
		return i.sign(t, typ, goodClaims())
	}
}

func anotherKey(t *testing.T, _ *issuer) string {
	t.Helper()
	key := newTestKey(t, "first")
	return signWith(t, jose.ES256, &key, "at+jwt", goodClaims())
}

func hs256(t *testing.T, i *issuer) string {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(&i.keys[0].Key.(*ecdsa.PrivateKey).PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return signWith(t, jose.HS256, public, "at+jwt", goodClaims())
}

func tampered(t *testing.T, i *issuer) string {
	t.Helper()
	parts := strings.Split(i.sign(t, "at+jwt", goodClaims()), ".")
	claims := goodClaims()
	claims["sub"] = "root"
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(payload)
	return strings.Join(parts, ".")
}

func TestGoodAccessTokens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, typ string
		change    map[string]any
		types     []string
	}{
		{name: "as RFC 9068 has it", typ: "at+jwt"},
		{name: "the long type", typ: "application/AT+JWT"},
		{name: "azp for client_id", typ: "at+jwt", change: map[string]any{"client_id": nil, "azp": "mobile"}},
		{name: "several audiences", typ: "at+jwt", change: map[string]any{"aud": []string{"other", testAudience}}},
		{name: "clocks that differ a little", typ: "at+jwt", change: map[string]any{
			"iat": start().Add(29 * time.Second).Unix(), "exp": start().Add(-29 * time.Second).Unix(),
		}},
		{name: "a type that is allowed", typ: "JWT", types: []string{"at+jwt", "JWT"}, change: map[string]any{"typ": "Bearer"}},
		{name: "odd optional claims", typ: "at+jwt", change: map[string]any{"name": 7, "email": []string{"x"}, "roles": 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			cfg := goodConfig(i, newClock().Now)
			cfg.TokenTypes = test.types
			a := newAuth(t, cfg)
			claims := goodClaims()
			maps.Copy(claims, test.change)
			token, err := a.checkAccessToken(t.Context(), a.provider.Load(), i.sign(t, test.typ, claims))
			if err != nil {
				t.Fatal(err)
			}
			if token.id != "token-1" || token.identity.Subject != "alice" || token.identity.OrgClaim != "acme" {
				t.Errorf("read %+v", token)
			}
		})
	}
}

// TestIDTokenCostsNoKeys: what the header gives away is refused before keys are needed.
func TestIDTokenCostsNoKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	a := newAuth(t, goodConfig(i, newClock().Now))
	if err := present(t, a, i.sign(t, "JWT", goodClaims())); !errors.Is(err, ErrInvalid) {
		t.Fatalf("got %v, want ErrInvalid", err)
	}
	if n := i.fetched(); n != 0 {
		t.Errorf("keys fetched %d times, want never", n)
	}
}

func TestOrganisationOfAToken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, setting string
		org           any
		wantClaim     string
		wantPersonal  bool
	}{
		{"claim", "", "acme", "acme", false},
		{"no claim", "", nil, "", true},
		{"setting for one each", "-", "acme", "", true},
		{"another claim", "tenant", "acme", "t-1", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			cfg := goodConfig(i, newClock().Now)
			cfg.OrgClaim = test.setting
			a := newAuth(t, cfg)
			claims := goodClaims()
			claims["org_id"], claims["tenant"] = test.org, "t-1"
			token, err := a.checkAccessToken(t.Context(), a.provider.Load(), i.sign(t, "at+jwt", claims))
			if err != nil {
				t.Fatal(err)
			}
			if id := token.identity; id.OrgClaim != test.wantClaim || id.Personal != test.wantPersonal {
				t.Errorf("got claim %q, personal %v", id.OrgClaim, id.Personal)
			}
		})
	}
}

func TestClaimsList(t *testing.T) {
	t.Parallel()
	var c claims
	document := `{"roles": ["admin", "x"], "one": "admin", "realm_access": {"roles": ["admin"]},
		"https://example.com/roles": ["admin"], "bad": [1], "none": null}`
	if err := json.Unmarshal([]byte(document), &c); err != nil {
		t.Fatal(err)
	}
	tests := map[string]int{
		"roles": 2, "one": 1, "realm_access.roles": 1, "https://example.com/roles": 1,
		"bad": 0, "none": 0, "absent": 0, "realm_access.absent": 0, "roles.x": 0,
	}
	for name, want := range tests {
		if got := c.list(name); len(got) != want {
			t.Errorf("list(%q) = %q, want %d roles", name, got, want)
		}
	}
}

func TestAdminIsFreshRoles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		roles []string
		age   time.Duration
		want  bool
	}{
		{"just read", []string{"admin"}, 0, true},
		{"an hour old", []string{"user", "admin"}, time.Hour, true},
		{"older", []string{"admin"}, time.Hour + time.Second, false},
		{"another role", []string{"administrator"}, 0, false},
		{"none", nil, 0, false},
	}
	for _, test := range tests {
		if got := isAdmin(test.roles, start(), start().Add(test.age)); got != test.want {
			t.Errorf("%s: admin = %v, want %v", test.name, got, test.want)
		}
	}
}

// TestCancelledCheckSaysNothing: a caller who hangs up while keys are fetched learns nothing about the token.
func TestCancelledCheckSaysNothing(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.hold = make(chan struct{})
	defer close(i.hold)
	a := newAuth(t, goodConfig(i, newClock().Now))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Authenticate(ctx, Credential{Kind: Bearer, token: i.sign(t, "at+jwt", goodClaims())})
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrUnavailable alone", err)
	}
}
