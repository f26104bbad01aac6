package auth

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/devidp"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

const (
	testPublic = "https://app.example"
	devIssuer  = testPublic + devidp.Path
)

// A webBundle is an Auth with a database and the development issuer, and a browser in front of both.
type webBundle struct {
	auth    *Auth
	store   *store.Store
	idp     *devidp.Provider
	cookies map[string]*http.Cookie
	codes   []string // what Hooks.SignIn was told
	lookups int      // session look-ups
}

// signingKey is the development issuer's, made once for all tests: making one takes longer than any of them.
var signingKey = sync.OnceValues(devidp.NewKey)

// newStore is a database with the development issuer's signing key.
func newStore(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.New(t)
	if _, err := s.IDPKeys(t.Context(), devidp.KeyRules(signingKey)); err != nil {
		t.Fatal(err)
	}
	return s
}

func setupWeb(t *testing.T) *webBundle {
	t.Helper()
	public, err := url.Parse(testPublic)
	if err != nil {
		t.Fatal(err)
	}
	b := &webBundle{store: newStore(t), cookies: map[string]*http.Cookie{}}
	b.idp, err = devidp.New(devidp.Config{Issuer: devIssuer, Audience: testAudience, Clients: devidp.DefaultClients(public, "secret")}, b.store)
	if err != nil {
		t.Fatal(err)
	}
	cfg := goodConfig(devidp.Transport(devIssuer, b.idp, nil), nil)
	cfg.Issuer, cfg.PublicURL = devIssuer, public
	b.start(t, cfg)
	return b
}

// start makes the Auth and waits until it has discovered its issuer.
func (b *webBundle) start(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Hooks.SignIn = func(code string) { b.codes = append(b.codes, code) }
	cfg.Hooks.SessionLookup = func() { b.lookups++ }
	var err error
	if b.auth, err = New(cfg, b.store); err != nil {
		t.Fatal(err)
	}
	b.auth.client.Timeout = time.Minute // a busy machine is no fault
	if err := <-b.auth.Start(t.Context()); err != nil || !b.auth.Ready() {
		t.Fatalf("discovery: %v", err)
	}
	follow(t, b.auth)
}

// follow keeps an Auth in step with the database until the test ends, and waits for the beginning.
func follow(t *testing.T, a *Auth) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	known := make(chan struct{}, 1)
	var running sync.WaitGroup
	running.Go(func() {
		a.store.Follow(ctx, func(ctx context.Context, changes []store.Change) error {
			err := a.Apply(ctx, changes)
			select {
			case known <- struct{}{}:
			default:
			}
			return err
		}, func(err error) { t.Logf("changes interrupted: %v", err) })
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	<-known
}

// keep does with cookies what a browser does.
func (b *webBundle) keep(cookies []*http.Cookie) {
	for _, c := range cookies {
		b.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
}

// request makes a request with the browser's cookies.
func (b *webBundle) request(t *testing.T, target string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for _, c := range b.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	return r
}

// begin starts a sign-in and returns where the browser is sent.
func (b *webBundle) begin(t *testing.T, returnTo string) *url.URL {
	t.Helper()
	target, cookie, err := b.auth.Login(t.Context(), returnTo, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.keep([]*http.Cookie{cookie})
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// pick picks a person at the development issuer and returns the callback that it redirects to.
func (b *webBundle) pick(t *testing.T, target *url.URL, person string) string {
	t.Helper()
	values := target.Query()
	values.Set("person", person)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, devIssuer+"/authorize", strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	b.idp.ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("picking %s: %d %s", person, w.Code, w.Body)
	}
	return w.Header().Get("Location")
}

// callback ends a sign-in as the browser does.
func (b *webBundle) callback(t *testing.T, target string) (SignIn, error) {
	t.Helper()
	in, err := b.auth.Callback(t.Context(), b.request(t, target))
	b.keep(in.Cookies)
	return in, err
}

// signIn signs a person in, and fails if that fails.
func (b *webBundle) signIn(t *testing.T, person string) {
	t.Helper()
	in, err := b.callback(t, b.pick(t, b.begin(t, "/"), person))
	if err != nil || in.Code != "" {
		t.Fatalf("sign-in: %v, %s, %v", err, in.Code, in.Cause)
	}
}

func (b *webBundle) credential(t *testing.T) Credential {
	t.Helper()
	c, err := b.auth.Credential(b.request(t, testPublic+"/"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *webBundle) caller(t *testing.T) (Caller, error) {
	t.Helper()
	return b.auth.Authenticate(t.Context(), b.credential(t))
}

func TestWebSignIn(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	target := b.begin(t, "/tasks?done=true")
	query := target.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "web", "redirect_uri": testPublic + callbackPath,
		"code_challenge_method": "S256", "scope": "openid profile email", "state": b.cookies["__Secure-login"].Value,
	} {
		if got := query.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	in, err := b.callback(t, b.pick(t, target, "alice"))
	if err != nil || in.Location() != "/tasks?done=true" || in.Cause != nil {
		t.Fatalf("sign-in ends at %q: %v, %v", in.Location(), err, in.Cause)
	}
	if _, kept := b.cookies["__Secure-login"]; kept {
		t.Error("the login cookie was not cleared")
	}
	c, err := b.caller(t)
	if err != nil {
		t.Fatal(err)
	}
	checkAlice(t, c)
	if len(b.codes) != 1 || b.codes[0] != "ok" || b.lookups != 1 {
		t.Errorf("hooks were told %q and %d look-ups", b.codes, b.lookups)
	}
}

func checkAlice(t *testing.T, c Caller) {
	t.Helper()
	if c.Name != "Alice Archer" || c.Email != "alice@acme.example" || c.OrgName != "Acme" || c.Plan != "free" || c.Admin || c.TokenID != "" {
		t.Errorf("the caller is %+v", c)
	}
	if c.Via != ViaSession || !near(c.SessionExpiresAt, 14*24*time.Hour) || !near(c.CredentialExpiresAt, 24*time.Hour) {
		t.Errorf("the session is %+v", c)
	}
}

// near says whether at is d from now, give or take what a slow machine needs.
func near(at time.Time, d time.Duration) bool {
	return (time.Until(at) - d).Abs() < 2*time.Minute
}

// TestSessionAndBearerAreOnePerson: the same identity is the same user by cookie and by token.
func TestSessionAndBearerAreOnePerson(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "root")
	web, err := b.caller(t)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: devidp.Transport(devIssuer, b.idp, nil)}
	token, err := devidp.FetchToken(t.Context(), client, testPublic, "root")
	if err != nil {
		t.Fatal(err)
	}
	mobile, err := b.auth.Authenticate(t.Context(), bearerCredential("Bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	if web.UserID != mobile.UserID || web.OrgID != mobile.OrgID || !web.Admin || !mobile.Admin {
		t.Errorf("by cookie %+v, by token %+v", web, mobile)
	}
	if mobile.Via != ViaBearer || mobile.TokenID == "" || !near(mobile.CredentialExpiresAt, time.Hour) || !mobile.SessionExpiresAt.IsZero() {
		t.Errorf("by token %+v", mobile)
	}
}

func TestTenancyOfPeople(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	orgs := map[string]Caller{}
	for _, person := range devidp.People() {
		b.signIn(t, person.ID)
		c, err := b.caller(t)
		if err != nil {
			t.Fatal(err)
		}
		orgs[person.ID] = c
	}
	if orgs["alice"].OrgID != orgs["bob"].OrgID || orgs["alice"].UserID == orgs["bob"].UserID {
		t.Error("alice and bob are not two people of one organisation")
	}
	seen := map[string]bool{}
	for _, person := range []string{"alice", "carol", "dave", "root"} {
		seen[orgs[person].OrgID.String()] = true
	}
	if len(seen) != 4 {
		t.Error("people of different organisations share one")
	}
}

// TestCallbackOfAnotherBrowser: without this browser's own login cookie nothing is looked up.
func TestCallbackOfAnotherBrowser(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	good := b.pick(t, b.begin(t, "/"), "alice")
	mine := b.cookies["__Secure-login"].Value
	tests := []struct{ name, cookie, target string }{
		{"no cookie", "", good},
		{"another's cookie", randomToken(), good},
		{"no state", mine, testPublic + callbackPath + "?code=x"},
		{"empty state and cookie", "", testPublic + callbackPath + "?code=x&state="},
		{"two states", mine, good + "&state=" + mine},
		{"two codes", mine, good + "&code=x"},
		{"broken query", mine, good + "&%zz"},
	}
	for _, test := range tests {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, testPublic+callbackPath, nil)
		u, _, _ := strings.Cut(test.target, "?")
		r.URL.RawQuery = test.target[len(u)+1:]
		r.AddCookie(&http.Cookie{Name: "__Secure-login", Value: test.cookie})
		if _, err := b.auth.Callback(t.Context(), r); !errors.Is(err, ErrCallback) {
			t.Errorf("%s: %v, want ErrCallback", test.name, err)
		}
	}
	if in, err := b.callback(t, good); err != nil || in.Code != "" {
		t.Errorf("the sign-in was spent by strangers: %v, %s", err, in.Code)
	}
}

func TestCallbackWorksOnce(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	target := b.begin(t, "/tasks")
	cookie := b.cookies["__Secure-login"]
	back := b.pick(t, target, "alice")
	if in, err := b.callback(t, back); err != nil || in.Code != "" {
		t.Fatalf("sign-in: %v, %s", err, in.Code)
	}
	b.keep([]*http.Cookie{cookie})
	in, err := b.callback(t, back)
	if err != nil || in.Code != CodeExpired || in.Location() != "/?signin=expired" || in.Cause == nil {
		t.Errorf("again: %v, %+v; want the code expired", err, in)
	}
	if _, err := b.caller(t); err != nil {
		t.Errorf("the session of the first: %v", err)
	}
}

// How long a sign-in takes is told by the database alone: another process, whose clock is far off, may have begun it.
func TestSignInBegunByAnotherClock(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	for _, off := range []time.Duration{-2 * loginFor, 2 * loginFor} {
		b.auth.cfg.Now = func() time.Time { return time.Now().Add(off) }
		target := b.begin(t, "/")
		b.auth.cfg.Now = time.Now
		if in, err := b.callback(t, b.pick(t, target, "alice")); err != nil || in.Code != "" {
			t.Errorf("begun by a clock that is off by %v: %v, %+v", off, err, in)
		}
	}
}

func TestReturnToStaysHere(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	for _, evil := range []string{"//evil.example", `/\evil.example`, "https://evil.example/", "/%2f%2fevil.example"} {
		in, err := b.callback(t, b.pick(t, b.begin(t, evil), "alice"))
		if err != nil || in.Location() != "/" {
			t.Errorf("%q leads to %q, %v", evil, in.Location(), err)
		}
	}
}

// TestSessionFixation: a session that was planted in the browser before the sign-in is neither used nor left alive.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "bob")
	planted := b.credential(t)
	b.signIn(t, "alice")
	if b.credential(t) == planted {
		t.Error("the sign-in kept the token that was there")
	}
	if _, err := b.auth.Authenticate(t.Context(), planted); !errors.Is(err, ErrInvalid) {
		t.Errorf("the planted session: %v, want ErrInvalid", err)
	}
	if c, err := b.caller(t); err != nil || c.Name != "Alice Archer" {
		t.Errorf("signed in as %q, %v", c.Name, err)
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "alice")
	old, before := b.credential(t), mustCaller(t, b)
	cookies, err := b.auth.Refresh(t.Context(), before)
	if err != nil || len(cookies) != 1 || !near(time.Now().Add(time.Duration(cookies[0].MaxAge)*time.Second), 14*24*time.Hour) {
		t.Fatalf("refresh: %v, %v", cookies, err)
	}
	b.keep(cookies)
	after := mustCaller(t, b)
	if b.credential(t) == old || after.SessionID != before.SessionID || !after.SessionExpiresAt.Equal(before.SessionExpiresAt) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if _, err := b.auth.Authenticate(t.Context(), old); err != nil {
		t.Errorf("another tab's request with the old token: %v", err)
	}
	if cookies, err := b.auth.Refresh(t.Context(), before); err != nil || len(cookies) != 0 {
		t.Errorf("another tab's refresh: %v, %v; want no cookie and no error", cookies, err)
	}
	mustCaller(t, b)
}

func mustCaller(t *testing.T, b *webBundle) Caller {
	t.Helper()
	c, err := b.caller(t)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRefreshNeedsASession(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	if _, err := b.auth.Refresh(t.Context(), Caller{Via: ViaBearer}); !errors.Is(err, ErrNotSession) {
		t.Errorf("a bearer token: %v, want ErrNotSession", err)
	}
	b.signIn(t, "alice")
	c := mustCaller(t, b)
	if err := b.store.DeleteSession(t.Context(), c.SessionID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.auth.Refresh(t.Context(), c); !errors.Is(err, ErrInvalid) {
		t.Errorf("an ended session: %v, want ErrInvalid", err)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "alice")
	c, credential := mustCaller(t, b), b.credential(t)
	ended, err := b.auth.Logout(t.Context(), credential, false)
	if err != nil || ended.UserID != c.UserID {
		t.Fatalf("logout: %+v, %v", ended, err)
	}
	b.keep(ended.Cookies)
	if b.credential(t).Kind != None {
		t.Error("the cookie is still there")
	}
	if _, err := b.auth.Authenticate(t.Context(), credential); !errors.Is(err, ErrInvalid) {
		t.Errorf("the session after logout: %v, want ErrInvalid", err)
	}
	b.checkEndSession(t, ended.EndSessionURL)
	if again, err := b.auth.Logout(t.Context(), credential, false); err != nil || again.EndSessionURL != "" || len(again.Cookies) != 1 {
		t.Errorf("logout again: %+v, %v", again, err)
	}
}

// checkEndSession holds the issuer's logout page to sending the browser back here.
func (b *webBundle) checkEndSession(t *testing.T, target string) {
	t.Helper()
	w := httptest.NewRecorder()
	b.idp.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != testPublic+"/" {
		t.Errorf("%s answers %d to %q", target, w.Code, w.Header().Get("Location"))
	}
}

func TestLogoutEverywhere(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "alice")
	laptop := b.credential(t)
	b.cookies = map[string]*http.Cookie{}
	b.signIn(t, "bob")
	others := b.credential(t)
	b.cookies = map[string]*http.Cookie{}
	b.signIn(t, "alice")
	phone := b.credential(t)
	if _, err := b.auth.Logout(t.Context(), phone, true); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Credential{"laptop": laptop, "phone": phone} {
		if _, err := b.auth.Authenticate(t.Context(), c); !errors.Is(err, ErrInvalid) {
			t.Errorf("the %s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := b.auth.Authenticate(t.Context(), others); err != nil {
		t.Errorf("bob's session: %v", err)
	}
	for _, c := range []Credential{{}, phone, {Kind: Malformed}} {
		if _, err := b.auth.Logout(t.Context(), c, true); !errors.Is(err, ErrInvalid) {
			t.Errorf("everywhere with %v: %v, want ErrInvalid", c, err)
		}
		if ended, err := b.auth.Logout(t.Context(), c, false); err != nil || len(ended.Cookies) != 1 {
			t.Errorf("logout with %v: %v", c, err)
		}
	}
}

func TestLogoutWithABearerToken(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "alice")
	session, phone, tablet, bobs := b.credential(t), b.bearer(t, "alice"), b.bearer(t, "alice"), b.bearer(t, "bob")
	if ended, err := b.auth.Logout(t.Context(), phone, false); err != nil || ended.EndSessionURL != "" {
		t.Errorf("this token alone: %+v, %v", ended, err)
	}
	b.wantRefused(t, map[string]Credential{"the token itself": phone}, true)
	b.wantRefused(t, map[string]Credential{"the browser's session": session, "another token": tablet, "bob's": bobs}, false)
	if ended, err := b.auth.Logout(t.Context(), phone, false); err != nil || ended.UserID != uuid.Nil {
		t.Errorf("again: %+v, %v; want no error and nobody", ended, err)
	}
	if _, err := b.auth.Logout(t.Context(), phone, true); !errors.Is(err, ErrInvalid) {
		t.Errorf("everywhere with a token that has ended: %v, want ErrInvalid", err)
	}
	if _, err := b.auth.Logout(t.Context(), tablet, true); err != nil {
		t.Fatal(err)
	}
	b.wantRefused(t, map[string]Credential{"the browser's session": session, "the other token": tablet}, true)
	b.wantRefused(t, map[string]Credential{"bob's": bobs}, false)
	b.awaitFreshToken(t, "alice")
}

// bearer gets an access token for a person.
func (b *webBundle) bearer(t *testing.T, person string) Credential {
	t.Helper()
	client := &http.Client{Transport: devidp.Transport(devIssuer, b.idp, nil)}
	token, err := devidp.FetchToken(t.Context(), client, testPublic, person)
	if err != nil {
		t.Fatal(err)
	}
	return bearerCredential("Bearer " + token)
}

func (b *webBundle) wantRefused(t *testing.T, credentials map[string]Credential, want bool) {
	t.Helper()
	for name, credential := range credentials {
		if _, err := b.auth.Authenticate(t.Context(), credential); (err != nil) != want || want && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want it refused %v", name, err, want)
		}
	}
}

// awaitFreshToken gets tokens until one is accepted: those of the second in which the others were revoked are refused.
func (b *webBundle) awaitFreshToken(t *testing.T, person string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := b.auth.Authenticate(t.Context(), b.bearer(t, person))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no token is accepted any more: %v", err)
		}
	}
}

// TestDatabaseAway: an outage is never taken for a bad credential.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	b.signIn(t, "alice")
	credential, caller := b.credential(t), mustCaller(t, b)
	client := &http.Client{Transport: devidp.Transport(devIssuer, b.idp, nil)}
	token, err := devidp.FetchToken(t.Context(), client, testPublic, "alice")
	if err != nil {
		t.Fatal(err)
	}
	back := b.pick(t, b.begin(t, "/"), "alice")
	b.store.Close()
	tests := map[string]func() error{
		"session": func() error { _, err := b.auth.Authenticate(t.Context(), credential); return err },
		"bearer": func() error {
			_, err := b.auth.Authenticate(t.Context(), bearerCredential("Bearer "+token))
			return err
		},
		"login":   func() error { _, _, err := b.auth.Login(t.Context(), "/", nil); return err },
		"refresh": func() error { _, err := b.auth.Refresh(t.Context(), caller); return err },
		"logout":  func() error { _, err := b.auth.Logout(t.Context(), credential, false); return err },
	}
	for name, call := range tests {
		if err := call(); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrUnavailable alone", name, err)
		}
	}
	if in, err := b.callback(t, back); err != nil || in.Code != CodeUnavailable {
		t.Errorf("callback: %v, %+v; want the code unavailable", err, in)
	}
}

// TestBadAnswersOfTheIssuer signs in at an issuer that answers wrongly in one way each.
func TestBadAnswersOfTheIssuer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// query is added to the callback's; claims are changed in the ID token (nil: left out); token replaces the answer.
		query  map[string]string
		claims map[string]any
		typ    string
		status int
		want   string
	}{
		{name: "all is well"},
		{name: "several audiences and the right azp", claims: map[string]any{"aud": []string{"web", "x"}, "azp": "web"}},
		{name: "another iss in the callback", query: map[string]string{"iss": "https://evil.example"}, want: CodeInvalid},
		{name: "no iss in the callback", query: map[string]string{"iss": ""}, want: CodeInvalid},
		{name: "denied", query: map[string]string{"error": "access_denied", "code": ""}, want: CodeDenied},
		{name: "failed", query: map[string]string{"error": "server_error", "code": ""}, want: CodeRefused},
		{name: "no code", query: map[string]string{"code": ""}, want: CodeInvalid},
		{name: "code refused", status: 400, want: CodeRefused},
		{name: "token endpoint down", status: 503, want: CodeUnavailable},
		{name: "another nonce", claims: map[string]any{"nonce": "x"}, want: CodeInvalid},
		{name: "no nonce", claims: map[string]any{"nonce": nil}, want: CodeInvalid},
		{name: "another audience", claims: map[string]any{"aud": "mobile"}, want: CodeInvalid},
		{name: "another azp", claims: map[string]any{"azp": "mobile"}, want: CodeInvalid},
		{name: "several audiences and no azp", claims: map[string]any{"aud": []string{"web", "x"}}, want: CodeInvalid},
		{name: "another at_hash", claims: map[string]any{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, want: CodeInvalid},
		{name: "expired", claims: map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, want: CodeInvalid},
		{name: "from the future", claims: map[string]any{"iat": time.Now().Add(time.Hour).Unix()}, want: CodeInvalid},
		{name: "another issuer", claims: map[string]any{"iss": "https://evil.example"}, want: CodeInvalid},
		{name: "a logout token", claims: map[string]any{"events": map[string]any{}}, want: CodeInvalid},
		{name: "no sub", claims: map[string]any{"sub": nil}, want: CodeInvalid},
		{name: "no ID token", typ: "none", want: CodeInvalid},
		{name: "HS256 with the client's secret", typ: "HS256", want: CodeInvalid},
	}
	s := storetest.New(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := &webBundle{store: s, cookies: map[string]*http.Cookie{}}
			i := newIssuer(t)
			b.start(t, goodConfig(i, nil))
			target := b.begin(t, "/")
			i.set(func(i *issuer) { i.token = answerWith(t, i, target.Query(), test.claims, test.typ, test.status) })
			query := url.Values{"state": {target.Query().Get("state")}, "code": {"the-code"}, "iss": {testIssuerURL}}
			for name, value := range test.query {
				query.Set(name, value)
				if value == "" {
					query.Del(name)
				}
			}
			in, err := b.callback(t, testPublic+callbackPath+"?"+query.Encode())
			if err != nil || in.Code != test.want {
				t.Fatalf("got code %q (%v), %v; want %q", in.Code, in.Cause, err, test.want)
			}
			if _, signedIn := b.cookies["__Host-session"]; signedIn != (test.want == "") {
				t.Errorf("session cookie: %v", signedIn)
			}
		})
	}
}

// answerWith is a token endpoint that holds the client to its challenge and then answers as a test wants it.
func answerWith(t *testing.T, i *issuer, asked url.Values, change map[string]any, typ string, status int) func(url.Values) (int, map[string]any) {
	t.Helper()
	claims := goodClaims()
	claims["aud"], claims["nonce"] = "web", asked.Get("nonce")
	claims["iat"], claims["exp"] = time.Now().Unix(), time.Now().Add(time.Hour).Unix()
	for name, value := range change {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	body := map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 3600}
	switch typ {
	case "none":
	case "HS256":
		body["id_token"] = signWith(t, "HS256", bytes.Repeat([]byte("secret"), 8), "JWT", claims)
	default:
		body["id_token"] = signWith(t, "ES256", &i.keys[0], "JWT", claims)
	}
	return func(form url.Values) (int, map[string]any) {
		if status != 0 {
			return status, map[string]any{"error": "invalid_grant"}
		}
		if form.Get("code") != "the-code" || form.Get("redirect_uri") != testPublic+callbackPath || form.Get("code_verifier") == "" {
			return http.StatusBadRequest, map[string]any{"error": "invalid_request"}
		}
		return http.StatusOK, body
	}
}

// TestCallbackBeforeDiscovery: a replica that has just started does not spend the sign-in.
func TestCallbackBeforeDiscovery(t *testing.T) {
	t.Parallel()
	b := setupWeb(t)
	back := b.pick(t, b.begin(t, "/"), "alice")
	started := b.auth
	fresh, err := New(started.cfg, b.store)
	if err != nil {
		t.Fatal(err)
	}
	b.auth = fresh
	if _, err := b.callback(t, back); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	b.auth = started
	if in, err := b.callback(t, back); err != nil || in.Code != "" {
		t.Errorf("afterwards: %v, %+v", err, in)
	}
}
