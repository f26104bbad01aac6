package app_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/oauth2"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

const (
	// foreignPublic is what the server is called; its sign-ins come back there, and the test takes them to where it listens.
	foreignPublic = "http://localhost:8089"
	nativeSignIn  = "http://localhost/signin"
)

// A foreignIssuer is a provider that others wrote (zitadel/oidc), with its example's people and passwords. It signs access
// tokens as JWT and says nothing of iss in its callbacks.
type foreignIssuer struct {
	*storage.Storage

	url string
	// down makes it hang up on everybody.
	down atomic.Bool
}

func startForeignIssuer(t *testing.T) *foreignIssuer {
	t.Helper()
	var handler http.Handler
	i := &foreignIssuer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.down.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	clients := map[string]*storage.Client{
		"web":    storage.WebClient("web", "of-the-web", foreignPublic+"/api/v1/auth/callback"),
		"mobile": storage.NativeClient("mobile", nativeSignIn),
		"other":  storage.NativeClient("other", nativeSignIn),
	}
	i.Storage, i.url = storage.NewStorageWithClients(storage.NewUserStore(server.URL), clients), server.URL
	config := &op.Config{CodeMethodS256: true, GrantTypeRefreshToken: true, DefaultLogoutRedirectURI: "/signed-out"}
	rand.Read(config.CryptoKey[:])
	provider, err := op.NewProvider(config, i, op.StaticIssuer(i.url), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	mux.HandleFunc("GET /login", i.signIn)
	handler = mux
	return i
}

// signIn stands for the login page: whoever comes is the example's user.
func (i *foreignIssuer) signIn(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("id")
	host, _, _ := strings.Cut(strings.TrimPrefix(i.url, "http://"), ":")
	if err := i.CheckUsernamePassword("test-user@"+host, "verysecure", id); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	http.Redirect(w, r, "/authorize/callback?id="+url.QueryEscape(id), http.StatusFound)
}

// An audienceRequest asks for tokens that are for the API too.
type audienceRequest struct{ op.AuthRequest }

// GetAudience implements op.AuthRequest.
func (r audienceRequest) GetAudience() []string { return append(r.AuthRequest.GetAudience(), "api") }

// CreateAuthRequest implements op.Storage.
func (i *foreignIssuer) CreateAuthRequest(ctx context.Context, request *oidc.AuthRequest, userID string) (op.AuthRequest, error) {
	made, err := i.Storage.CreateAuthRequest(ctx, request, userID)
	return audienceRequest{made}, err
}

// AuthRequestByID implements op.Storage.
func (i *foreignIssuer) AuthRequestByID(ctx context.Context, id string) (op.AuthRequest, error) {
	found, err := i.Storage.AuthRequestByID(ctx, id)
	return audienceRequest{found}, err
}

// AuthRequestByCode implements op.Storage.
func (i *foreignIssuer) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	found, err := i.Storage.AuthRequestByCode(ctx, code)
	return audienceRequest{found}, err
}

// SetUserinfoFromRequest puts the organisation into ID tokens.
func (i *foreignIssuer) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	info.AppendClaims("tenant", "org-1")
	info.AppendClaims("realm_access", map[string]any{"roles": []string{"admin"}})
	return i.Storage.SetUserinfoFromRequest(ctx, info, request, scopes)
}

// GetPrivateClaimsFromScopes puts it into access tokens.
func (i *foreignIssuer) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return map[string]any{"tenant": "org-1", "realm_access": map[string]any{"roles": []string{"admin"}}}, nil
}

// GetClientByClientID implements op.Storage.
func (i *foreignIssuer) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	client, err := i.Storage.GetClientByClientID(ctx, id)
	return jwtClient{client}, err
}

// A jwtClient is set up as the server wants it: access tokens that are JWTs, and ID tokens that say who signed in.
type jwtClient struct{ op.Client }

// AccessTokenType implements op.Client.
func (jwtClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// IDTokenUserinfoClaimsAssertion implements op.Client.
func (jwtClient) IDTokenUserinfoClaimsAssertion() bool { return true }

// LoginURL implements op.Client.
func (jwtClient) LoginURL(id string) string { return "/login?id=" + url.QueryEscape(id) }

// PostLogoutRedirectURIs implements op.Client.
func (jwtClient) PostLogoutRedirectURIs() []string { return []string{foreignPublic + "/"} }

// env is the settings for this issuer.
func (i *foreignIssuer) env() servertest.Env {
	return servertest.Env{
		"PUBLIC_URL": foreignPublic, "OIDC_ISSUER": i.url, "OIDC_CLIENT_SECRET": "of-the-web", "OIDC_CLIENTS": "web,mobile",
		"OIDC_ORG_CLAIM": "tenant", "OIDC_ROLES_CLAIM": "realm_access.roles", "OIDC_TOKEN_TYPES": "JWT",
	}
}

// tokens walks the code flow as a native app.
func (i *foreignIssuer) tokens(t *testing.T, client string) *oauth2.Token {
	t.Helper()
	provider, err := goidc.NewProvider(t.Context(), i.url)
	if err != nil {
		t.Fatal(err)
	}
	config := oauth2.Config{ClientID: client, RedirectURL: nativeSignIn, Endpoint: provider.Endpoint(), Scopes: []string{"openid", "profile", "email"}}
	verifier := oauth2.GenerateVerifier()
	back := follow(t, config.AuthCodeURL("the-state", oauth2.S256ChallengeOption(verifier)), nativeSignIn)
	tokens, err := config.Exchange(t.Context(), back.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// logoutToken is what the provider would send for a session of its own; the example sends none.
func (i *foreignIssuer) logoutToken(t *testing.T, session string) string {
	t.Helper()
	key, err := i.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	return sign(t, "logout+jwt", key.SignatureAlgorithm(), jose.JSONWebKey{Key: key.Key(), KeyID: key.ID()}, map[string]any{
		"iss": i.url, "aud": "web", "sid": session, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	})
}

// follow follows an issuer's redirects until they lead to a place, and returns that.
func follow(t *testing.T, from, to string) *url.URL {
	t.Helper()
	target, err := url.Parse(from)
	for range 10 {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(target.String(), to) {
			return target
		}
		var resp *http.Response
		if resp, err = http.DefaultTransport.RoundTrip(&http.Request{Method: http.MethodGet, URL: target, Header: http.Header{}}); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		target, err = target.Parse(resp.Header.Get("Location"))
	}
	t.Fatalf("the redirects of %s do not lead to %s but to %s", from, to, target)
	return nil
}

// The server works with a provider that others wrote: web sign-in, sign-out, and bearer tokens, for one and the same person.
func TestForeignProvider(t *testing.T) {
	t.Parallel()
	i := startForeignIssuer(t)
	s := servertest.Start(t, i.env())
	b := newBrowser(t, s, "203.0.113.40")
	back := follow(t, b.login("/tasks"), foreignPublic+"/api/v1/auth/callback")
	done := b.send("GET", back.RequestURI(), nil)
	want(t, done, http.StatusSeeOther)
	if got := done.Header.Get("Location"); got != "/tasks" {
		t.Fatalf("the sign-in ended at %q", got)
	}
	web := servertest.JSON[api.Me](t, b.send("GET", "/api/v1/me", nil))
	if web.Via != "session" || web.Name != "Test User" || web.Email != "test-user@zitadel.ch" || len(web.Roles) != 1 {
		t.Errorf("signed in as %+v", web)
	}
	tokens := i.tokens(t, "mobile")
	bearer := servertest.JSON[api.Me](t, s.Do(servertest.Request{Path: "/api/v1/me", Token: tokens.AccessToken}))
	if bearer.Via != "bearer" || bearer.ID != web.ID || bearer.Organisation.ID != web.Organisation.ID {
		t.Errorf("the app's token is %+v, the browser's session %+v", bearer, web)
	}
	idToken, _ := tokens.Extra("id_token").(string)
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: idToken}), http.StatusUnauthorized)
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: i.tokens(t, "other").AccessToken}), http.StatusUnauthorized)

	out := servertest.JSON[api.LogoutResult](t, b.send("POST", "/api/v1/auth/logout", nil))
	if out.EndSessionURL == nil {
		t.Fatal("the logout names no page of the issuer's")
	}
	follow(t, *out.EndSessionURL, foreignPublic+"/")
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusUnauthorized)
}

// Without OIDC_TOKEN_TYPES the type JWT is refused: it does not tell an access token from the issuer's others.
func TestForeignTokensNeedTheirType(t *testing.T) {
	t.Parallel()
	i := startForeignIssuer(t)
	s := servertest.Start(t, i.env(), servertest.Env{"OIDC_TOKEN_TYPES": ""})
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: i.tokens(t, "mobile").AccessToken}), http.StatusUnauthorized)
}
