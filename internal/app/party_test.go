package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/jackc/pgx/v5"
	"golang.org/x/oauth2"

	"example.com/gatehouse/internal/servertest"
)

// A party is an OpenID client that knows nothing of this project but an issuer's URL and what it is registered as.
type party struct {
	t        *testing.T
	issuer   string
	http     *http.Client
	provider *oidc.Provider
	metadata map[string]any
}

const partySecret = "secret & of a third party"

// newParty is a party of that server's issuer, over a transport that may lead to another replica.
func newParty(t *testing.T, public *servertest.Server, transport http.RoundTripper) *party {
	t.Helper()
	p := &party{t: t, issuer: public.URL + "/dev/idp", http: &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	var err error
	if p.provider, err = oidc.NewProvider(p.context(), p.issuer); err != nil {
		t.Fatal(err)
	}
	if err := p.provider.Claims(&p.metadata); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *party) context() context.Context { return oidc.ClientContext(p.t.Context(), p.http) }

// app is a native app, web a confidential client.
func (p *party) app(scopes ...string) *oauth2.Config {
	c := &oauth2.Config{ClientID: "mobile", RedirectURL: "http://127.0.0.1:53117/signin", Scopes: scopes, Endpoint: p.provider.Endpoint()}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	return c
}

func (p *party) web(scopes ...string) *oauth2.Config {
	redirect := strings.TrimSuffix(p.issuer, "/dev/idp") + "/api/v1/auth/callback"
	c := &oauth2.Config{ClientID: "web", ClientSecret: partySecret, RedirectURL: redirect, Scopes: scopes, Endpoint: p.provider.Endpoint()}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	return c
}

// ask sends a form, or a GET without one, and returns status, header and body.
func (p *party) ask(target string, form url.Values, header ...string) (int, http.Header, []byte) {
	p.t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, target, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, text
}

// authorize asks as a browser would, picks alice, and returns the parameters that come back to the client; nil if the
// issuer sends the browser nowhere.
func (p *party) authorize(request string) url.Values {
	p.t.Helper()
	target, err := url.Parse(request)
	if err != nil {
		p.t.Fatal(err)
	}
	form := target.Query()
	form.Set("person", "alice")
	target.RawQuery = ""
	_, header, _ := p.ask(target.String(), form)
	back, err := url.Parse(header.Get("Location"))
	if err != nil || header.Get("Location") == "" {
		return nil
	}
	return back.Query()
}

// signIn walks code and PKCE.
func (p *party) signIn(c *oauth2.Config) (code, verifier string, tokens *oauth2.Token) {
	p.t.Helper()
	verifier = oauth2.GenerateVerifier()
	back := p.authorize(c.AuthCodeURL("the state", oidc.Nonce("the nonce"), oauth2.S256ChallengeOption(verifier)))
	if back.Get("state") != "the state" || back.Get("iss") != p.issuer || back.Get("code") == "" {
		p.t.Fatalf("came back with %v", back)
	}
	tokens, err := c.Exchange(p.context(), back.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		p.t.Fatal(err)
	}
	return back.Get("code"), verifier, tokens
}

// refuses checks that a token request was refused with this code of OAuth's.
func (p *party) refuses(what string, err error, code string) {
	p.t.Helper()
	refusal, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || refusal.ErrorCode != code {
		p.t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func (p *party) userinfo(token string) int {
	p.t.Helper()
	status, _, _ := p.ask(p.metadata["userinfo_endpoint"].(string), nil, "Authorization", "Bearer "+token)
	return status
}

// TestIssuerAsAThirdPartySeesIt holds the development issuer to its standards, with libraries and requests that know
// nothing of its code.
func TestIssuerAsAThirdPartySeesIt(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Env{"OIDC_CLIENT_SECRET": partySecret})
	for i, test := range []struct {
		name  string
		check func(*party)
	}{
		{"discovery", (*party).checkDiscovery},
		{"PKCE", (*party).checkPKCE},
		{"code flow", (*party).checkCodeFlow},
		{"refresh", (*party).checkRefresh},
		{"replay", (*party).checkReplay},
		{"redirects", (*party).checkRedirects},
		{"clients", (*party).checkClients},
		{"end session", (*party).checkEndSession},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.check(newParty(t, s, servertest.From(fmt.Sprint("203.0.113.", 20+i))))
		})
	}
}

func (p *party) checkDiscovery() {
	want := map[string]any{
		"issuer": p.issuer, "response_types_supported": []any{"code"}, "code_challenge_methods_supported": []any{"S256"},
		"subject_types_supported": []any{"public"}, "authorization_response_iss_parameter_supported": true,
		"backchannel_logout_supported": true, "backchannel_logout_session_supported": true,
		"id_token_signing_alg_values_supported": []any{"RS256"}, "grant_types_supported": []any{"authorization_code", "refresh_token"},
	}
	for name, value := range want {
		got, _ := json.Marshal(p.metadata[name])
		if wanted, _ := json.Marshal(value); !bytes.Equal(got, wanted) {
			p.t.Errorf("%s is %s, want %s", name, got, wanted)
		}
	}
	for _, endpoint := range []string{"authorization", "token", "userinfo", "end_session"} {
		if at, _ := p.metadata[endpoint+"_endpoint"].(string); !strings.HasPrefix(at, p.issuer+"/") {
			p.t.Errorf("the %s endpoint is %q", endpoint, at)
		}
	}
	status, _, body := p.ask(p.metadata["jwks_uri"].(string), nil)
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(body, &keys); err != nil || status != http.StatusOK || len(keys.Keys) == 0 {
		p.t.Fatalf("keys: %d %s", status, body)
	}
	for _, key := range keys.Keys {
		if !key.IsPublic() || !key.Valid() || key.KeyID == "" || key.Use != "sig" || key.Algorithm != "RS256" {
			p.t.Errorf("key %q: public %v, use %q, algorithm %q", key.KeyID, key.IsPublic(), key.Use, key.Algorithm)
		}
	}
}

func (p *party) checkPKCE() {
	c := p.app("openid")
	verifier := oauth2.GenerateVerifier()
	plain := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("code_challenge", verifier), oauth2.SetAuthURLParam("code_challenge_method", "plain")}
	for name, options := range map[string][]oauth2.AuthCodeOption{
		"plain": plain, "plain by default": plain[:1], "none": nil,
		"S256 of nothing": {oauth2.SetAuthURLParam("code_challenge", ""), oauth2.SetAuthURLParam("code_challenge_method", "S256")},
	} {
		if back := p.authorize(c.AuthCodeURL("s", options...)); back.Get("error") != "invalid_request" || back.Get("code") != "" || back.Get("state") != "s" {
			p.t.Errorf("%s: came back with %v", name, back)
		}
	}
	for name, wrong := range map[string]string{"another verifier": oauth2.GenerateVerifier(), "the challenge itself": oauth2.S256ChallengeFromVerifier(verifier), "none": ""} {
		code := p.authorize(c.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier))).Get("code")
		_, err := c.Exchange(p.context(), code, oauth2.SetAuthURLParam("code_verifier", wrong))
		p.refuses(name, err, "invalid_grant")
	}
}

func (p *party) checkCodeFlow() {
	for _, c := range []*oauth2.Config{p.app("openid", "profile"), p.web("openid", "profile")} {
		_, _, tokens := p.signIn(c)
		raw, _ := tokens.Extra("id_token").(string)
		id, err := p.provider.Verifier(&oidc.Config{ClientID: c.ClientID}).Verify(p.context(), raw)
		if err != nil {
			p.t.Fatal(err)
		}
		if id.Nonce != "the nonce" || id.Subject != "alice" || !slices.Equal(id.Audience, []string{c.ClientID}) || id.VerifyAccessToken(tokens.AccessToken) != nil || id.AccessTokenHash == "" {
			p.t.Errorf("the ID token says %+v, at_hash %v", id, id.VerifyAccessToken(tokens.AccessToken))
		}
		access, err := p.provider.Verifier(&oidc.Config{ClientID: "api"}).Verify(p.context(), tokens.AccessToken)
		if err != nil || access.Subject != id.Subject {
			p.t.Errorf("the access token: %v, %+v", err, access)
		}
		if life := time.Until(tokens.Expiry); life < 50*time.Minute || life > time.Hour || tokens.Type() != "Bearer" {
			p.t.Errorf("a %s token for %v", tokens.Type(), life)
		}
		if tokens.RefreshToken != "" {
			p.t.Error("a refresh token that nobody asked for")
		}
		info, err := p.provider.UserInfo(p.context(), oauth2.StaticTokenSource(tokens))
		if err != nil || info.Subject != id.Subject || info.Email != "alice@acme.example" {
			p.t.Errorf("userinfo: %v, %+v", err, info)
		}
		if status := p.userinfo(raw); status != http.StatusUnauthorized {
			p.t.Errorf("userinfo with an ID token: %d", status)
		}
	}
}

// renew uses a refresh token.
func (p *party) renew(c *oauth2.Config, refresh string) (*oauth2.Token, error) {
	return c.TokenSource(p.context(), &oauth2.Token{RefreshToken: refresh}).Token()
}

func (p *party) checkRefresh() {
	c := p.app("openid", "offline_access")
	_, _, first := p.signIn(c)
	second, err := p.renew(c, first.RefreshToken)
	if err != nil || second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken {
		p.t.Fatalf("the first renewal: %v, %+v", err, second)
	}
	third, err := p.renew(c, second.RefreshToken)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = p.renew(c, first.RefreshToken)
	p.refuses("a refresh token that was used", err, "invalid_grant")
	_, err = p.renew(c, third.RefreshToken)
	p.refuses("its family after that", err, "invalid_grant")
	if status := p.userinfo(third.AccessToken); status != http.StatusUnauthorized {
		p.t.Errorf("userinfo with the family's access token: %d", status)
	}
	_, _, others := p.signIn(c)
	_, err = p.renew(p.web(), others.RefreshToken)
	p.refuses("another client's refresh token", err, "invalid_grant")
}

func (p *party) checkReplay() {
	c := p.app("openid", "offline_access")
	code, verifier, tokens := p.signIn(c)
	if status := p.userinfo(tokens.AccessToken); status != http.StatusOK {
		p.t.Fatalf("userinfo before: %d", status)
	}
	_, err := c.Exchange(p.context(), code, oauth2.VerifierOption(verifier))
	p.refuses("the code again", err, "invalid_grant")
	if status := p.userinfo(tokens.AccessToken); status != http.StatusUnauthorized {
		p.t.Errorf("userinfo with what the code gave: %d", status)
	}
	_, err = p.renew(c, tokens.RefreshToken)
	p.refuses("its refresh token", err, "invalid_grant")
}

// checkRedirects: nobody is redirected to what is not registered, not even with an error.
func (p *party) checkRedirects() {
	challenge := oauth2.S256ChallengeOption(oauth2.GenerateVerifier())
	for _, redirect := range []string{
		"", "https://evil.example/", "http://127.0.0.1:53117/signin/", "http://127.0.0.1:53117/signin?x=1", "http://127.0.0.1:53117/SIGNIN",
		"http://127.0.0.1.evil.example:80/signin", "http://127.0.0.1:53117@evil.example/signin", "http://localhost:53117/signin", "com.example.app:/signin2",
	} {
		c := p.app("openid")
		c.RedirectURL = redirect
		if back := p.authorize(c.AuthCodeURL("s", challenge)); back != nil {
			p.t.Errorf("sent to %q with %v", redirect, back)
		}
	}
	c := p.app("openid")
	verifier := oauth2.GenerateVerifier()
	code := p.authorize(c.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier))).Get("code")
	c.RedirectURL = "http://127.0.0.1:53118/signin"
	_, err := c.Exchange(p.context(), code, oauth2.VerifierOption(verifier))
	p.refuses("a code for another redirect", err, "invalid_grant")
}

func (p *party) checkClients() {
	for name, change := range map[string]func(*oauth2.Config){
		"a public client with a secret":         func(c *oauth2.Config) { c.ClientSecret = "guessed" },
		"a confidential client without its own": func(c *oauth2.Config) { *c = *p.web("openid"); c.ClientSecret = "" },
		"a confidential client with another":    func(c *oauth2.Config) { *c = *p.web("openid"); c.ClientSecret = "guessed" },
	} {
		c := p.app("openid")
		change(c)
		verifier := oauth2.GenerateVerifier()
		code := p.authorize(c.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier))).Get("code")
		_, err := c.Exchange(p.context(), code, oauth2.VerifierOption(verifier))
		p.refuses(name, err, "invalid_client")
	}
	stranger := p.app("openid")
	stranger.ClientID = "stranger"
	if back := p.authorize(stranger.AuthCodeURL("s", oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))); back != nil {
		p.t.Errorf("an unknown client was sent %v", back)
	}
	verifier := oauth2.GenerateVerifier()
	mine := p.authorize(p.app("openid").AuthCodeURL("s", oauth2.S256ChallengeOption(verifier))).Get("code")
	_, err := p.web().Exchange(p.context(), mine, oauth2.VerifierOption(verifier))
	p.refuses("another client's code", err, "invalid_grant")
}

func (p *party) checkEndSession() {
	c := p.web("openid", "offline_access")
	_, _, tokens := p.signIn(c)
	hint, _ := tokens.Extra("id_token").(string)
	home := strings.TrimSuffix(p.issuer, "dev/idp")
	target := p.metadata["end_session_endpoint"].(string)
	query := url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {"https://evil.example/"}}
	if status, header, _ := p.ask(target+"?"+query.Encode(), nil); status != http.StatusBadRequest || header.Get("Location") != "" {
		p.t.Errorf("an unregistered way back: %d to %q", status, header.Get("Location"))
	}
	query = url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {home}, "state": {"back"}}
	status, header, _ := p.ask(target+"?"+query.Encode(), nil)
	if status != http.StatusSeeOther || header.Get("Location") != home+"?state=back" {
		p.t.Errorf("the registered way back: %d to %q", status, header.Get("Location"))
	}
	_, err := p.renew(c, tokens.RefreshToken)
	p.refuses("the refresh token afterwards", err, "invalid_grant")
}

// A key that is followed by another is published for as long as its tokens live, and the new one before it signs.
func TestKeyRotationAsAThirdPartySeesIt(t *testing.T) {
	t.Parallel()
	shared := servertest.Env{"DATABASE_URL": servertest.NewDatabase(t), "OIDC_CLIENT_SECRET": partySecret}
	before := servertest.Start(t, shared)
	shared = maps.Clone(shared)
	shared["PUBLIC_URL"] = before.URL
	old := newParty(t, before, toHost{before})
	_, _, oldTokens := old.signIn(old.app("openid"))

	age(t, shared["DATABASE_URL"], 31*24*time.Hour)
	resting := newParty(t, before, toHost{servertest.Start(t, shared)})
	_, _, restingTokens := resting.signIn(resting.app("openid"))
	age(t, shared["DATABASE_URL"], time.Hour)
	after := newParty(t, before, toHost{servertest.Start(t, shared)})
	_, _, newTokens := after.signIn(after.app("openid"))

	if a, b, c := keyOf(t, oldTokens), keyOf(t, restingTokens), keyOf(t, newTokens); a != b || b == c {
		t.Errorf("signed with %s, then with %s while a new key rests, then with %s", a, b, c)
	}
	for name, tokens := range map[string]*oauth2.Token{"before": oldTokens, "while the new key rests": restingTokens, "after": newTokens} {
		if _, err := after.provider.Verifier(&oidc.Config{ClientID: "api"}).Verify(after.context(), tokens.AccessToken); err != nil {
			t.Errorf("the token from %s: %v", name, err)
		}
		if status := after.userinfo(tokens.AccessToken); status != http.StatusOK {
			t.Errorf("userinfo with the token from %s: %d", name, status)
		}
	}
	if _, err := resting.provider.Verifier(&oidc.Config{ClientID: "api"}).Verify(resting.context(), newTokens.AccessToken); err != nil {
		t.Errorf("a replica that has not yet begun to sign with the new key: %v", err)
	}
}

// toHost sends every request to one server, as a load balancer may.
type toHost struct{ server *servertest.Server }

// RoundTrip implements http.RoundTripper.
func (h toHost) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(h.server.URL, "http://")
	return http.DefaultTransport.RoundTrip(r)
}

// age makes the issuer's keys older.
func age(t *testing.T, database string, by time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "UPDATE idp_keys SET created_at = created_at - $1::interval", by); err != nil {
		t.Fatal(err)
	}
}

// keyOf is the id of the key that signed a token.
func keyOf(t *testing.T, tokens *oauth2.Token) string {
	t.Helper()
	signed, err := jose.ParseSignedCompact(tokens.AccessToken, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	return signed.Signatures[0].Header.KeyID
}
