package devidp

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"example.com/gatehouse/internal/store/storetest"
)

// TestSignInAsAClientSeesIt walks the whole flow for each client with go-oidc and oauth2, which know nothing of this package.
func TestSignInAsAClientSeesIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tests := []struct{ client, redirect, person string }{
		{"web", testCallback, "alice"},
		{"mobile", "com.example.app:/signin", "carol"},
		{"mobile", "http://127.0.0.1:49152/signin", "dave"},
		{"cli", "http://[::1]:8123/callback", "root"},
	}
	for _, test := range tests {
		t.Run(test.client+" "+test.redirect, func(t *testing.T) {
			t.Parallel()
			w := b.signIn(t, b.config(test.client, test.redirect, "openid", "profile", "email", "unheard-of"), test.person)
			b.checkIDToken(t, w, test.client, test.person)
			b.checkAccessToken(t, w, test.client, test.person)
			if w.tokens.RefreshToken != "" || w.tokens.Extra("scope") != "openid profile email" || !within(time.Until(w.tokens.Expiry), time.Hour) {
				t.Errorf("refresh token %q, scope %v, expiry %v", w.tokens.RefreshToken, w.tokens.Extra("scope"), w.tokens.Expiry)
			}
		})
	}
}

// How long a code or a refresh token is good is the database's to say: a process whose clock is off gives out good ones all
// the same, and another process takes them.
func TestCodesOfAClockThatIsOff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ given, taken time.Duration }{
		"whoever gives is late": {given: -2 * refreshFor}, "whoever takes is early": {taken: 2 * refreshFor},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.provider.cfg.Now = func() time.Time { return time.Now().Add(test.given) }
			w := b.signIn(t, b.config("mobile", "com.example.app:/signin", "openid", "offline_access"), "alice")
			again := *w.tokens
			again.AccessToken = "" // So that it is asked for another.
			b.provider.cfg.Now = func() time.Time { return time.Now().Add(test.taken) }
			if _, err := w.config.TokenSource(b.ctx, &again).Token(); err != nil {
				t.Errorf("the refresh token: %v", err)
			}
		})
	}
}

func (b *testBundle) checkIDToken(t *testing.T, w walk, client, person string) {
	t.Helper()
	raw, _ := w.tokens.Extra("id_token").(string)
	token, err := b.oidc.Verifier(&oidc.Config{ClientID: client}).Verify(b.ctx, raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := token.VerifyAccessToken(w.tokens.AccessToken); err != nil {
		t.Error(err)
	}
	if token.Nonce != "the-nonce" || token.Subject != person || !slices.Equal(token.Audience, []string{client}) {
		t.Errorf("the ID token is %+v", token)
	}
}

// checkAccessToken holds the access token to RFC 9068, and to userinfo.
func (b *testBundle) checkAccessToken(t *testing.T, w walk, client, person string) {
	t.Helper()
	if typ := headerOf(t, w.tokens.AccessToken).ExtraHeaders[jose.HeaderType]; typ != "at+jwt" {
		t.Errorf("typ %v, want at+jwt", typ)
	}
	token, err := b.oidc.Verifier(&oidc.Config{ClientID: "api"}).Verify(b.ctx, w.tokens.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Client string   `json:"client_id"`
		Scope  string   `json:"scope"`
		ID     string   `json:"jti"`
		Org    string   `json:"org_id"`
		Name   string   `json:"name"`
		Roles  []string `json:"roles"`
	}
	if err := token.Claims(&claims); err != nil {
		t.Fatal(err)
	}
	who, _ := personByID(person)
	if claims.Client != client || claims.Scope == "" || claims.ID == "" || claims.Org != who.OrgID || claims.Name != who.Name ||
		claims.Roles == nil || !slices.Equal(claims.Roles, append([]string{}, who.Roles...)) {
		t.Errorf("the access token holds %+v", claims)
	}
	info, err := b.oidc.UserInfo(b.ctx, oauth2.StaticTokenSource(w.tokens))
	if err != nil || info.Subject != person || info.Email != who.Email || !info.EmailVerified {
		t.Errorf("userinfo is %+v, %v", info, err)
	}
}

func headerOf(t *testing.T, raw string) jose.Header {
	t.Helper()
	signed, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{signingAlgorithm})
	if err != nil {
		t.Fatal(err)
	}
	return signed.Signatures[0].Header
}

func (b *testBundle) userinfo(token *oauth2.Token) error {
	_, err := b.oidc.UserInfo(b.ctx, oauth2.StaticTokenSource(token))
	return err
}

func TestCodeReplayRevokesWhatItGave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("web", testCallback, "openid", "offline_access"), "alice")
	if _, err := w.config.Exchange(b.ctx, w.code, oauth2.VerifierOption(w.verifier)); !refused(err, "invalid_grant") {
		t.Fatalf("the code's second use: %v, want invalid_grant", err)
	}
	if _, err := b.refresh(w.config, w.tokens); !refused(err, "invalid_grant") {
		t.Errorf("its refresh token: %v, want invalid_grant", err)
	}
	if err := b.userinfo(w.tokens); err == nil {
		t.Error("its access token still gets userinfo")
	}
}

// refresh changes a refresh token, whatever the access token's expiry.
func (b *testBundle) refresh(config *oauth2.Config, tokens *oauth2.Token) (*oauth2.Token, error) {
	return config.TokenSource(b.ctx, &oauth2.Token{RefreshToken: tokens.RefreshToken}).Token()
}

func TestRefreshRotatesAndDetectsReuse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("mobile", "com.example.app:/signin", "openid", "offline_access"), "bob")
	second, err := b.refresh(w.config, w.tokens)
	if err != nil {
		t.Fatal(err)
	}
	if second.RefreshToken == w.tokens.RefreshToken || second.AccessToken == w.tokens.AccessToken {
		t.Error("the tokens were not rotated")
	}
	if err := b.userinfo(second); err != nil {
		t.Error(err)
	}
	if _, err := b.refresh(w.config, w.tokens); !refused(err, "invalid_grant") {
		t.Fatalf("the first refresh token again: %v, want invalid_grant", err)
	}
	if _, err := b.refresh(w.config, second); !refused(err, "invalid_grant") {
		t.Errorf("the second after the first was reused: %v, want invalid_grant", err)
	}
	if err := b.userinfo(second); err == nil {
		t.Error("the family's access token still gets userinfo")
	}
}

func TestRefreshForAnotherClientIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("mobile", "com.example.app:/signin", "openid", "offline_access"), "bob")
	if _, err := b.refresh(b.config("cli", cliRedirect), w.tokens); !refused(err, "invalid_grant") {
		t.Errorf("got %v, want invalid_grant", err)
	}
}

func TestRefreshNarrowsScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("mobile", "com.example.app:/signin", "openid", "email", "offline_access"), "bob")
	status, _, body := b.post(t, "/token", url.Values{
		"grant_type": {"refresh_token"}, "client_id": {"mobile"}, "refresh_token": {w.tokens.RefreshToken},
		"scope": {"openid profile"},
	})
	if status != http.StatusOK || !strings.Contains(body, `"scope":"openid"`) || strings.Contains(body, "refresh_token") {
		t.Errorf("status %d, %s; want the scope openid and no more", status, body)
	}
}

func TestAuthorizeFaults(t *testing.T) {
	t.Parallel()
	p := newProvider(t, nil) // none of these reaches the database
	b := &testBundle{provider: p, client: inProcess(p)}
	good := url.Values{
		"client_id": {"web"}, "redirect_uri": {testCallback}, "response_type": {"code"}, "scope": {"openid"}, "state": {"s"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())}, "code_challenge_method": {"S256"},
	}
	tests := []struct {
		name, parameter, value string
		wantError              string // empty: a page, and no redirect
	}{
		{"unknown client", "client_id", "stranger", ""},
		{"no client", "client_id", "", ""},
		{"another redirect", "redirect_uri", "https://evil.example/", ""},
		{"a longer redirect", "redirect_uri", testCallback + "/x", ""},
		{"a redirect with a query", "redirect_uri", testCallback + "?x=1", ""},
		{"no redirect", "redirect_uri", "", ""},
		{"implicit flow", "response_type", "token", "unsupported_response_type"},
		{"hybrid flow", "response_type", "code id_token", "unsupported_response_type"},
		{"fragment", "response_mode", "fragment", "invalid_request"},
		{"plain PKCE", "code_challenge_method", "plain", "invalid_request"},
		{"PKCE method left out", "code_challenge_method", "", "invalid_request"},
		{"no PKCE", "code_challenge", "", "invalid_request"},
		{"a challenge that is no hash", "code_challenge", "abc", "invalid_request"},
		{"request object", "request", "x", "request_not_supported"},
		{"silent sign-in", "prompt", "none", "login_required"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			values := url.Values{"person": {"alice"}}
			for name := range good {
				values.Set(name, good.Get(name))
			}
			values.Set(test.parameter, test.value)
			for _, send := range []func() (int, http.Header, string){
				func() (int, http.Header, string) { return b.get(t, testIssuer+"/authorize?"+values.Encode()) },
				func() (int, http.Header, string) { return b.post(t, "/authorize", values) },
			} {
				status, header, _ := send()
				checkFault(t, status, header.Get("Location"), test.wantError)
			}
		})
	}
}

func checkFault(t *testing.T, status int, location, wantError string) {
	t.Helper()
	if wantError == "" {
		if status != http.StatusBadRequest || location != "" {
			t.Errorf("status %d, redirect %q; want a page with 400", status, location)
		}
		return
	}
	back, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	got := back.Query()
	if !strings.HasPrefix(location, testCallback+"?") || got.Get("error") != wantError || got.Get("state") != "s" ||
		got.Get("iss") != testIssuer || got.Has("code") {
		t.Errorf("status %d, redirect %q; want error %s", status, location, wantError)
	}
}

func TestRepeatedParametersAreRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t, nil)
	b := &testBundle{provider: p, client: inProcess(p)}
	status, header, _ := b.get(t, testIssuer+"/authorize?client_id=web&client_id=cli&redirect_uri="+url.QueryEscape(testCallback))
	checkFault(t, status, header.Get("Location"), "")
	if status, _, body := b.post(t, "/token", url.Values{"grant_type": {"a", "b"}}); status != http.StatusBadRequest || !strings.Contains(body, "invalid_request") {
		t.Errorf("token: %d %s", status, body)
	}
}

func TestTokenFaults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tests := []struct {
		name, parameter, value, wantError string
		wantStatus                        int
	}{
		{"wrong secret", "client_secret", "guess", "invalid_client", 401},
		{"no secret", "client_secret", "", "invalid_client", 401},
		{"unknown client", "client_id", "stranger", "invalid_client", 401},
		{"another client", "client_id", "cli", "invalid_client", 401}, // it has no secret, and must send none
		{"another grant", "grant_type", "password", "unsupported_grant_type", 400},
		{"wrong verifier", "code_verifier", oauth2.GenerateVerifier(), "invalid_grant", 400},
		{"no verifier", "code_verifier", "", "invalid_grant", 400},
		{"another redirect", "redirect_uri", cliRedirect, "invalid_grant", 400},
		{"no redirect", "redirect_uri", "", "invalid_grant", 400},
		{"unknown code", "code", "guess", "invalid_grant", 400},
		{"no code", "code", "", "invalid_grant", 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			verifier := oauth2.GenerateVerifier()
			back := b.pick(t, b.config("web", testCallback, "openid").AuthCodeURL("s", oauth2.S256ChallengeOption(verifier)), "alice")
			values := url.Values{
				"grant_type": {"authorization_code"}, "client_id": {"web"}, "client_secret": {testSecret},
				"code": {back.Get("code")}, "redirect_uri": {testCallback}, "code_verifier": {verifier},
			}
			values.Set(test.parameter, test.value)
			status, header, body := b.post(t, "/token", values)
			if status != test.wantStatus || !strings.Contains(body, `"error":"`+test.wantError+`"`) || header.Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %s", status, body)
			}
		})
	}
}

func TestUserinfoRefusesOtherTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("web", testCallback, "openid"), "alice")
	idToken, _ := w.tokens.Extra("id_token").(string)
	for name, token := range map[string]string{"ID token": idToken, "garbage": "a.b.c", "nothing": "", "half": w.tokens.AccessToken[:40]} {
		if err := b.userinfo(&oauth2.Token{AccessToken: token}); err == nil || !strings.Contains(err.Error(), "401") {
			t.Errorf("%s: %v, want 401", name, err)
		}
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("web", testCallback, "openid", "offline_access"), "alice")
	hint, _ := w.tokens.Extra("id_token").(string)
	tests := []struct {
		name         string
		values       url.Values
		wantStatus   int
		wantLocation string
	}{
		{"no hint", url.Values{"post_logout_redirect_uri": {testPublic + "/"}}, 200, ""},
		{"an access token as hint", url.Values{"id_token_hint": {w.tokens.AccessToken}, "post_logout_redirect_uri": {testPublic + "/"}}, 200, ""},
		{"elsewhere", url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {"https://evil.example/"}}, 400, ""},
		{"another client", url.Values{"id_token_hint": {hint}, "client_id": {"mobile"}, "post_logout_redirect_uri": {testPublic + "/"}}, 400, ""},
		{"nowhere", url.Values{"id_token_hint": {hint}}, 200, ""},
		{
			"back",
			url.Values{"id_token_hint": {hint}, "client_id": {"web"}, "post_logout_redirect_uri": {testPublic + "/"}, "state": {"a b"}},
			303, testPublic + "/?state=a+b",
		},
	}
	for _, test := range tests {
		status, header, _ := b.post(t, "/logout", test.values)
		if status != test.wantStatus || header.Get("Location") != test.wantLocation {
			t.Errorf("%s: %d to %q, want %d to %q", test.name, status, header.Get("Location"), test.wantStatus, test.wantLocation)
		}
	}
	if _, err := b.refresh(w.config, w.tokens); !refused(err, "invalid_grant") {
		t.Errorf("the refresh token after logout: %v, want invalid_grant", err)
	}
}

// TestReplicasShareEverything: one replica gives a code, a second changes it, a third checks the token.
func TestReplicasShareEverything(t *testing.T) {
	t.Parallel()
	b := setup(t)
	verifier := oauth2.GenerateVerifier()
	config := b.config("cli", cliRedirect, "openid")
	code := b.pick(t, config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier)), "alice").Get("code")
	second := oidc.ClientContext(t.Context(), inProcess(newProvider(t, b.provider.store)))
	tokens, err := config.Exchange(second, code, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	third := oidc.ClientContext(t.Context(), inProcess(newProvider(t, b.provider.store)))
	provider, err := oidc.NewProvider(third, testIssuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Verifier(&oidc.Config{ClientID: "api"}).Verify(third, tokens.AccessToken); err != nil {
		t.Error(err)
	}
}

// TestDatabaseAway: every page that needs the database says so, and none blames the client.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	p := newProvider(t, s)
	b := &testBundle{provider: p, client: inProcess(p)}
	s.Close()
	challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())
	tests := map[string]func() (int, http.Header, string){
		"keys": func() (int, http.Header, string) { return b.get(t, testIssuer+"/keys") },
		"authorize": func() (int, http.Header, string) {
			return b.post(t, "/authorize", url.Values{
				"client_id": {"cli"}, "redirect_uri": {cliRedirect}, "response_type": {"code"}, "person": {"alice"},
				"code_challenge": {challenge}, "code_challenge_method": {"S256"},
			})
		},
		"token": func() (int, http.Header, string) {
			return b.post(t, "/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {"cli"}, "refresh_token": {"x"}})
		},
	}
	for name, send := range tests {
		if status, header, body := send(); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, want 503 with Retry-After", name, status, body)
		}
	}
}

// TestFirstKeyIsMade: an empty database gets a key, one for all replicas that ask.
func TestFirstKeyIsMade(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	first, err := newProvider(t, s).keys.signing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := newProvider(t, s).keys.signing(t.Context())
	if err != nil || first.KeyID == "" || second.KeyID != first.KeyID || !first.Valid() || first.IsPublic() {
		t.Errorf("keys %q and %q, %v", first.KeyID, second.KeyID, err)
	}
}
