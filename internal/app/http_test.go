package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// browser is a client with cookies that follows redirects by hand.
type browser struct {
	t      *testing.T
	client *http.Client
	s      *servertest.Server
}

func newBrowser(t *testing.T, s *servertest.Server, from string) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{
		Jar: jar, Transport: servertest.From(from),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return browser{t, client, s}
}

func (b browser) send(method, target string, form url.Values) servertest.Response {
	b.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = b.s.URL + target
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return servertest.Response{Response: resp, Body: body}
}

// signIn walks the whole way through the development issuer, as a person would.
func (b browser) signIn(person, returnTo string) servertest.Response {
	b.t.Helper()
	return b.send("GET", b.choose(person, returnTo), nil)
}

// login begins a sign-in, and returns the issuer's address for it. A machine that is too busy to count it in time refuses
// it, and is asked again.
func (b browser) login(returnTo string) string {
	b.t.Helper()
	resp := b.send("GET", "/api/v1/auth/login?returnTo="+url.QueryEscape(returnTo), nil)
	for tries := 0; resp.StatusCode == http.StatusServiceUnavailable && tries < 20; tries++ {
		resp = b.send("GET", "/api/v1/auth/login?returnTo="+url.QueryEscape(returnTo), nil)
	}
	want(b.t, resp, http.StatusFound)
	return resp.Header.Get("Location")
}

// choose begins a sign-in, and returns where the issuer sends the browser back to.
func (b browser) choose(person, returnTo string) string {
	b.t.Helper()
	page := b.send("GET", b.login(returnTo), nil)
	want(b.t, page, http.StatusOK)
	form := page.Request.URL.Query()
	form.Set("person", person)
	chosen := b.send("POST", page.Request.URL.Path, form)
	if chosen.StatusCode != http.StatusFound && chosen.StatusCode != http.StatusSeeOther {
		b.t.Fatalf("choosing %s: %d %s", person, chosen.StatusCode, chosen.Body)
	}
	return chosen.Header.Get("Location")
}

func TestWebSignIn(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	b := newBrowser(t, s, "203.0.113.80")
	done := b.signIn("alice", "/tasks?x=1")
	want(t, done, http.StatusSeeOther)
	if got := done.Header.Get("Location"); got != "/tasks?x=1" {
		t.Errorf("returned to %q", got)
	}
	for _, cookie := range done.Cookies() {
		if cookie.Name == "session" && (!cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Secure) {
			t.Errorf("the session cookie is %v", cookie)
		}
	}
	me := servertest.JSON[api.Me](t, b.send("GET", "/api/v1/me", nil))
	if me.Via != "session" || me.Name != "Alice Archer" || me.SessionExpiresAt == nil || me.Organisation.Plan != "team" {
		t.Errorf("signed in as %+v", me)
	}
	want(t, b.send("POST", "/api/v1/auth/refresh", nil), http.StatusOK)
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusOK)
	out := b.send("POST", "/api/v1/auth/logout", nil)
	want(t, out, http.StatusOK)
	if result := servertest.JSON[api.LogoutResult](t, out); result.EndSessionURL == nil || !strings.HasPrefix(*result.EndSessionURL, s.URL+"/dev/idp/") {
		t.Errorf("logout answered %s", out.Body)
	}
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusUnauthorized)
}

// A sign-in that completes gives its charge back: people who sign in one after the other behind one address are not refused.
func TestCompletedSignInsAreGivenBack(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for i := range 12 {
		b := newBrowser(t, s, "203.0.113.81")
		person := []string{"alice", "bob", "carol", "dave"}[i%4]
		if done := b.signIn(person, "/"); done.StatusCode != http.StatusSeeOther || done.Header.Get("Location") != "/" {
			t.Fatalf("sign-in %d: %d to %q", i+1, done.StatusCode, done.Header.Get("Location"))
		}
	}
}

// A browser shows a person whatever it navigates to, so where a sign-in is refused it is led to the page that says why; a program
// gets the envelope.
func TestRefusedSignInsAreToldByThePage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(file, []byte(`{"edge": {"limit": 20}, "auth.login": {"limit": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, servertest.Env{"BUDGETS_FILE": file})
	const login, callback = "/api/v1/auth/login", "/api/v1/auth/callback?code=x&state=y"
	spendLogin := func(from string) {
		untilRefused(t, func() servertest.Response { return s.Do(servertest.Request{Path: login, From: from}) })
	}
	spendEdge := func(from string) {
		untilRefused(t, func() servertest.Response { return s.Do(servertest.Request{Path: "/api/v1/me", From: from}) })
	}
	tests := []struct {
		name, path, location string
		status               int // of a program
		spend                func(from string)
	}{
		{"sign-ins are spent", login, "/?signin=busy", http.StatusTooManyRequests, spendLogin},
		{"the address is spent", login, "/?signin=busy", http.StatusTooManyRequests, spendEdge},
		{"it is spent when the issuer has answered", callback, "/?signin=busy", http.StatusTooManyRequests, spendEdge},
		{"an answer of another sign-in", callback, "/?signin=expired", http.StatusBadRequest, func(string) {}},
		{"no sign-in", "/api/v1/me", "", http.StatusUnauthorized, func(string) {}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := fmt.Sprintf("203.0.113.%d", 100+i)
			tt.spend(from)
			// Sign-ins are counted in PostgreSQL, which a busy machine may not answer for in time: then they are refused as
			// unavailable, and asked for again.
			awaitStatus(t, func() servertest.Response { return s.Do(servertest.Request{Path: tt.path, From: from}) }, tt.status)
			var browser servertest.Response
			for range 30 {
				browser = s.Do(servertest.Request{Path: tt.path, From: from, Header: http.Header{"Sec-Fetch-Mode": {"navigate"}}})
				if browser.Header.Get("Location") != "/?signin=unavailable" {
					break
				}
			}
			status := tt.status
			if tt.location != "" {
				status = http.StatusSeeOther
			}
			if got := browser.Header.Get("Location"); got != tt.location || browser.StatusCode != status {
				t.Errorf("a browser gets %d to %q, want %d to %q: %s", browser.StatusCode, got, status, tt.location, browser.Body)
			}
		})
	}
}

func TestSignInFailuresAreSaidOnThePage(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	b := newBrowser(t, s, "203.0.113.82")
	login := b.send("GET", "/api/v1/auth/login?returnTo=//evil.example", nil)
	target, err := url.Parse(login.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	denied := b.send("GET", "/api/v1/auth/callback?error=access_denied&iss="+url.QueryEscape(s.URL+"/dev/idp")+"&state="+target.Query().Get("state"), nil)
	want(t, denied, http.StatusSeeOther)
	if got := denied.Header.Get("Location"); got != "/?signin=denied" {
		t.Errorf("went to %q", got)
	}
	stranger := newBrowser(t, s, "203.0.113.83")
	want(t, stranger.send("GET", "/api/v1/auth/callback?code=x&state="+target.Query().Get("state"), nil), http.StatusBadRequest)
}

// A page of an allowed origin may read a 429, its preflight is free, and no other origin is told anything.
func TestCORS(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Env{"CORS_ORIGINS": "https://app.example"})
	preflight := servertest.Request{Method: "OPTIONS", Path: "/api/v1/auth/refresh", From: "203.0.113.84", Header: http.Header{
		"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization"},
	}}
	for range 150 {
		resp := s.Do(preflight)
		want(t, resp, http.StatusNoContent)
		if h := resp.Header; h.Get("Access-Control-Allow-Origin") != "https://app.example" || h.Get("Access-Control-Allow-Credentials") != "" || h.Get("RateLimit") != "" {
			t.Fatalf("headers %v", h)
		}
	}
	spray(t, s, "203.0.113.84")
	refused := s.Do(servertest.Request{Path: "/api/v1/me", From: "203.0.113.84", Header: http.Header{"Origin": {"https://app.example"}}})
	want(t, refused, http.StatusTooManyRequests)
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "Retry-After", "X-Retry-After", "X-Request-ID"} {
		if !strings.Contains(refused.Header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is not exposed: %v", name, refused.Header)
		}
	}
	if refused.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("a page cannot read its 429: %v", refused.Header)
	}
	other := s.Do(servertest.Request{Path: "/livez", Header: http.Header{"Origin": {"https://evil.example"}}})
	if other.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin is allowed: %v", other.Header)
	}
}

func TestTwoCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := s.Token("alice")
	cookie := http.Header{"Cookie": {"session=" + strings.Repeat("a", 43)}}
	resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: alice, Header: cookie})
	want(t, resp, http.StatusBadRequest)
	if p := servertest.JSON[api.Problem](t, resp); p.Code != api.CodeBadRequest {
		t.Errorf("%s", resp.Body)
	}
}

// An inbound request id is believed only from a trusted proxy, and only in a harmless form.
func TestRequestID(t *testing.T) {
	t.Parallel()
	trusting, alone := servertest.Start(t), servertest.Start(t, servertest.Env{"TRUSTED_PROXIES": ""})
	ask := func(s *servertest.Server, id string) string {
		return s.Do(servertest.Request{Path: "/livez", Header: http.Header{"X-Request-Id": {id}}}).Header.Get("X-Request-ID")
	}
	if got := ask(trusting, "abc_DEF-1"); got != "abc_DEF-1" {
		t.Errorf("the proxy's id became %q", got)
	}
	for _, bad := range []string{"", "a b", "a\"b", strings.Repeat("a", 65)} {
		if got := ask(trusting, bad); got == bad || got == "" {
			t.Errorf("%q was taken as %q", bad, got)
		}
	}
	if got := ask(alone, "abc"); got == "abc" || got == "" {
		t.Errorf("a stranger's id was taken as %q", got)
	}
}

// The page is there without a build too, with headers that let a browser do nothing else.
func TestPageAndHeaders(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	page := s.Do(servertest.Request{Path: "/"})
	want(t, page, http.StatusOK)
	h := page.Header
	if !strings.HasPrefix(h.Get("Content-Type"), "text/html") || h.Get("Cache-Control") != "no-cache" || strings.Contains(h.Get("Content-Security-Policy"), "unsafe") || h.Get("RateLimit") != "" {
		t.Errorf("headers %v", h)
	}
	for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin"} {
		if h.Get(name) != value {
			t.Errorf("%s is %q", name, h.Get(name))
		}
	}
	// Its pages have paths, so that a reload works, and one policy: the API's reference needs no other.
	for _, path := range []string{"/budgets", "/docs", "/admin", "/admin/overrides"} {
		other := s.Do(servertest.Request{Path: path})
		want(t, other, http.StatusOK)
		if !bytes.Equal(other.Body, page.Body) || other.Header.Get("Content-Security-Policy") != h.Get("Content-Security-Policy") {
			t.Errorf("%s is not the page", path)
		}
	}
	want(t, s.Do(servertest.Request{Path: "/admin/nothing"}), http.StatusNotFound)
	want(t, s.Do(servertest.Request{Path: "/budgets/"}), http.StatusNotFound)
	want(t, s.Do(servertest.Request{Path: "/.keep"}), http.StatusNotFound)
	want(t, s.Do(servertest.Request{Path: "/assets/"}), http.StatusNotFound)
	want(t, s.Do(servertest.Request{Method: "POST", Path: "/"}), http.StatusMethodNotAllowed)
	head := s.Do(servertest.Request{Method: "HEAD", Path: "/api/v1/limits"})
	if want(t, head, http.StatusOK); len(head.Body) != 0 {
		t.Errorf("HEAD answered a body: %s", head.Body)
	}
}

// A body that is announced too large is refused unread, and one without an announced length is cut off.
func TestBodiesAreCapped(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := s.Token("alice")
	address := strings.TrimPrefix(s.URL, "http://")
	conn, err := net.Dial("tcp", strings.Replace(address, "localhost", "127.0.0.1", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/auth/refresh HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n", alice)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("an announced 10 MB: %d", resp.StatusCode)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/api/v1/admin/orgs/01890000-0000-7000-8000-000000000000/plan", io.MultiReader(strings.NewReader(strings.Repeat(" ", 100<<10))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token("root"))
	r.Header.Set("Content-Type", "application/json")
	chunked, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	chunked.Body.Close()
	if chunked.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("100 KB in chunks: %d", chunked.StatusCode)
	}
}

// as sends JSON requests of one person.
type as struct {
	t     *testing.T
	s     *servertest.Server
	token string
}

func (a as) do(method, path, body string) servertest.Response {
	a.t.Helper()
	return a.s.Do(servertest.Request{Method: method, Path: path, Body: body, Token: a.token})
}

// Headers that claim an identity change neither the caller nor whose budget is charged.
func TestClaimedIdentitiesChangeNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice, carol := s.Token("alice"), s.Token("carol")
	me := servertest.JSON[api.Me](t, s.Do(servertest.Request{Path: "/api/v1/me", Token: carol}))
	claimed := http.Header{"X-User-Id": {me.ID}, "X-Org-Id": {me.Organisation.ID}, "X-Forwarded-User": {"carol"}}
	resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: alice, Header: claimed})
	want(t, resp, http.StatusOK)
	if got := servertest.JSON[api.Me](t, resp); got.ID == me.ID || got.Name != "Alice Archer" || got.Organisation.Name != "Acme" || got.Via != "bearer" {
		t.Errorf("the caller is %+v", got)
	}
	if b := status(t, limits(t, s, carol), "user"); *b.Remaining != 99 {
		t.Errorf("carol was charged: %d left", *b.Remaining)
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Header: claimed}), http.StatusUnauthorized)
}

func TestUnknownPathsHaveTheOneFormat(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	resp := s.Do(servertest.Request{Path: "/api/v1/nothing/here"})
	p := servertest.JSON[api.Problem](t, resp)
	if resp.StatusCode != http.StatusNotFound || p.Code != api.CodeNotFound || p.Error != "Not Found" || p.Title != "Not Found" || p.Instance != "/api/v1/nothing/here" || p.RequestID != resp.Header.Get("X-Request-ID") || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%v %s", resp.Header, resp.Body)
	}
}

func wantProblem(t *testing.T, resp servertest.Response, status int, code api.Code) {
	t.Helper()
	want(t, resp, status)
	if p := servertest.JSON[api.Problem](t, resp); p.Code != code || resp.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("answered %v %s, want %s", resp.Header, resp.Body, code)
	}
}

func execute(t *testing.T, database, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
