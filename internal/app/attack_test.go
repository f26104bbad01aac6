package app_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// Tokens that are not access tokens of this API, or not any more, are 401 and buy nothing: no look-up, few key fetches.
func TestForgedBearerTokens(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"OIDC_TOKEN_TYPES": "at+jwt,JWT"})
	claims := func(change map[string]any) map[string]any {
		all := issuer.Claims("mallory", "org")
		maps.Copy(all, change)
		return all
	}
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"for another API":            issuer.Sign("at+jwt", claims(map[string]any{"aud": "billing"})),
		"for another client":         issuer.Sign("at+jwt", claims(map[string]any{"client_id": "stranger"})),
		"for another azp":            issuer.Sign("at+jwt", claims(map[string]any{"azp": "stranger"})),
		"for no client":              issuer.Sign("at+jwt", claims(map[string]any{"client_id": nil})),
		"an ID token":                issuer.Sign("JWT", claims(map[string]any{"aud": []string{"web", "api"}, "azp": "web", "nonce": "n"})),
		"an ID token without nonce":  issuer.Sign("JWT", claims(map[string]any{"at_hash": "h"})),
		"a logout token":             issuer.LogoutToken("mallory"),
		"a logout token for the API": issuer.Sign("JWT", claims(map[string]any{"events": map[string]any{}})),
		"a refresh token":            issuer.Sign("JWT", claims(map[string]any{"typ": "Refresh"})),
		"another type":               issuer.Sign("dpop+jwt", claims(nil)),
		"of another issuer":          issuer.Sign("at+jwt", claims(map[string]any{"iss": "https://evil.example"})),
		"expired":                    issuer.Sign("at+jwt", claims(map[string]any{"exp": at(-time.Minute)})),
		"not valid yet":              issuer.Sign("at+jwt", claims(map[string]any{"nbf": at(time.Minute)})),
		"issued in the future":       issuer.Sign("at+jwt", claims(map[string]any{"iat": at(time.Minute)})),
		"issued the day before":      issuer.Sign("at+jwt", claims(map[string]any{"iat": at(-25 * time.Hour)})),
		"alg none":                   compact(t, `{"alg":"none","typ":"at+jwt"}`, claims(nil)) + ".",
		"alg none, signed":           compact(t, `{"alg":"none","typ":"at+jwt"}`, claims(nil)) + ".c2ln",
		"HS256 with the public key":  sign(t, "at+jwt", jose.HS256, issuer.PublicKey(), claims(nil)),
		"signed by a stranger":       sign(t, "at+jwt", jose.ES256, jose.JSONWebKey{Key: stranger, KeyID: "k1"}, claims(nil)),
		"a key that nobody knows":    sign(t, "at+jwt", jose.ES256, jose.JSONWebKey{Key: stranger, KeyID: "k2"}, claims(nil)),
		"longer than 8 KiB":          issuer.Sign("at+jwt", claims(map[string]any{"name": strings.Repeat("a", 9<<10)})),
		"garbage":                    "garbage",
	}
	for name, token := range tests {
		resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: token, From: "203.0.113.30"})
		if p := servertest.JSON[api.Problem](t, resp); resp.StatusCode != http.StatusUnauthorized || p.Code != api.CodeAuthFailed {
			t.Errorf("%s: %d %s", name, resp.StatusCode, resp.Body)
		}
	}
	if n := issuer.KeyFetches.Load(); n > 5 {
		t.Errorf("%d key fetches for %d bad tokens", n, len(tests))
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: issuer.Token("alice", "org")}), http.StatusOK)
	// A header of 1 MB does not even reach the server's own code.
	huge := issuer.Sign("at+jwt", claims(map[string]any{"name": strings.Repeat("a", 1<<20)}))
	if resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: huge}); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("1 MB: %d", resp.StatusCode)
	}
}

// compact is the part of a token that is signed.
func compact(t *testing.T, header string, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode(payload)
}

func sign(t *testing.T, typ string, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// session is the browser's session cookie.
func (b browser) session() string {
	b.t.Helper()
	target, err := url.Parse(b.s.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(target) {
		if c.Name == "session" {
			return c.Value
		}
	}
	b.t.Fatal("the browser has no session")
	return ""
}

// plant puts a session cookie into the browser.
func (b browser) plant(value string) {
	b.t.Helper()
	target, err := url.Parse(b.s.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.client.Jar.SetCookies(target, []*http.Cookie{{Name: "session", Value: value, Path: "/"}})
}

func withCookie(session string) http.Header { return http.Header{"Cookie": {"session=" + session}} }

// A session that was planted in a browser is not the one that its owner signs in to.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	mallory := newBrowser(t, s, "203.0.113.31")
	mallory.signIn("carol", "/")
	for name, planted := range map[string]string{"made up": strings.Repeat("m", 43), "the attacker's own": mallory.session()} {
		victim := newBrowser(t, s, "203.0.113.32")
		victim.plant(planted)
		victim.signIn("alice", "/")
		if victim.session() == planted {
			t.Errorf("%s: the victim signed in to the planted session", name)
		}
		if me := servertest.JSON[api.Me](t, victim.send("GET", "/api/v1/me", nil)); me.Name != "Alice Archer" {
			t.Errorf("%s: the victim is %+v", name, me)
		}
		want(t, s.Do(servertest.Request{Path: "/api/v1/me", Header: withCookie(planted)}), http.StatusUnauthorized)
	}
}

// Another site cannot act with the browser's cookie, a sibling of the same domain included.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	b := newBrowser(t, s, "203.0.113.33")
	b.signIn("alice", "/")
	routes := []struct{ method, path, body string }{
		{"POST", "/api/v1/tasks", `{"title":"forged"}`}, // example:line
		{"DELETE", "/api/v1/me", ""},
		{"POST", "/api/v1/auth/logout", ""},
		{"POST", "/api/v1/auth/refresh", ""},
		{"PATCH", "/api/v1/tasks/01890000-0000-7000-8000-000000000000", `{}`}, // example:line
	}
	senders := map[string]http.Header{
		"another site":                {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
		"a sibling":                   {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://other.localhost"}},
		"an old browser's other site": {"Origin": {"https://evil.example"}},
		"a page without an origin":    {"Origin": {"null"}},
	}
	for name, header := range senders {
		for _, r := range routes {
			header := maps.Clone(header)
			maps.Copy(header, withCookie(b.session()))
			resp := s.Do(servertest.Request{Method: r.method, Path: r.path, Body: r.body, Header: header, From: "203.0.113.34"})
			if p := servertest.JSON[api.Problem](t, resp); resp.StatusCode != http.StatusForbidden || p.Code != api.CodeForbidden {
				t.Errorf("%s, %s %s: %d %s", name, r.method, r.path, resp.StatusCode, resp.Body)
			}
		}
	}
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusOK) // Nobody was signed out or removed.
	// example:begin
	if tasks := servertest.JSON[api.TaskList](t, b.send("GET", "/api/v1/tasks", nil)); strings.Contains(fmt.Sprint(tasks), "forged") {
		t.Error("a forged task was made")
	}
	// example:end
	// What has effects is no GET.
	want(t, b.send("GET", "/api/v1/auth/logout", nil), http.StatusMethodNotAllowed)
}

// Under https the cookie has a name that no other host can set, and is sent to this host alone.
func TestCookieOfAnotherHost(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"PUBLIC_URL": "https://app.example.com", "DATABASE_URL": servertest.NewDatabase(t)})
	login := s.Do(servertest.Request{Path: "/api/v1/auth/login"})
	want(t, login, http.StatusFound)
	for _, c := range login.Cookies() {
		if !strings.HasPrefix(c.Name, "__Secure-") || !c.Secure || !c.HttpOnly || c.Domain != "" || c.SameSite != http.SameSiteLaxMode {
			t.Errorf("the cookie is %v", c)
		}
	}
	token := strings.Repeat("a", 43)
	lookups := s.Metric("auth_session_lookups_total")
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Header: withCookie(token)}), http.StatusUnauthorized)
	if got := s.Metric("auth_session_lookups_total"); got != lookups {
		t.Error("a cookie that a sibling host may have set was looked up")
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Header: http.Header{"Cookie": {"__Host-session=" + token}}}), http.StatusUnauthorized)
	if got := s.Metric("auth_session_lookups_total"); got != lookups+1 {
		t.Error("the host's own cookie was not looked up")
	}
}

// The parts of two sign-ins do not fit together.
func TestMixedUpSignIns(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	begin := func(b browser, person string) url.Values {
		t.Helper()
		back, err := url.Parse(b.choose(person, "/"))
		if err != nil {
			t.Fatal(err)
		}
		return back.Query()
	}
	callback := func(b browser, query url.Values) servertest.Response {
		return b.send("GET", "/api/v1/auth/callback?"+query.Encode(), nil)
	}
	with := func(query url.Values, name, value string) url.Values {
		changed := maps.Clone(query)
		changed.Set(name, value)
		return changed
	}
	victim, mallory := newBrowser(t, s, "203.0.113.35"), newBrowser(t, s, "203.0.113.36")
	theirs := begin(mallory, "carol")
	// The attacker's answer, in a browser that began no sign-in, and in one that began another.
	want(t, callback(victim, theirs), http.StatusBadRequest)
	mine := begin(victim, "alice")
	want(t, callback(victim, theirs), http.StatusBadRequest)
	// The attacker's code with the victim's state: made for another verifier and nonce.
	injected := callback(victim, with(mine, "code", theirs.Get("code")))
	if got := injected.Header.Get("Location"); got != "/?signin=refused" {
		t.Errorf("an injected code ends at %q", got)
	}
	want(t, victim.send("GET", "/api/v1/me", nil), http.StatusUnauthorized)
	// The answer of another issuer.
	foreign := callback(victim, with(begin(victim, "alice"), "iss", "https://evil.example"))
	if got := foreign.Header.Get("Location"); got != "/?signin=invalid" {
		t.Errorf("another issuer's answer ends at %q", got)
	}
	// An answer works once.
	answer := begin(victim, "alice")
	want(t, callback(victim, answer), http.StatusSeeOther)
	want(t, callback(victim, answer), http.StatusBadRequest) // Its login cookie has gone.
	want(t, victim.send("GET", "/api/v1/me", nil), http.StatusOK)
}

func TestOpenRedirects(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for i, target := range []string{
		"https://evil.example", "//evil.example", `/\evil.example`, `\\evil.example`, "/%2F/evil.example", "javascript:alert(1)",
		"/\t/evil.example", "https:evil.example", "/..//evil.example", "@evil.example",
	} {
		done := newBrowser(t, s, fmt.Sprintf("203.0.113.%d", 100+i)).signIn("alice", target)
		want(t, done, http.StatusSeeOther)
		if got := done.Header.Get("Location"); got != "/" {
			t.Errorf("%q leads to %q", target, got)
		}
	}
}

// example:begin

// Another tenant's ids name nothing, in every route that takes one.
func TestAnotherTenantsIDs(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	alice, mallory := issuer.Token("alice", "acme"), issuer.Token("mallory", "globex")
	task := servertest.JSON[api.Task](t, s.Do(servertest.Request{Method: "POST", Path: "/api/v1/tasks", Token: alice, Body: `{"title":"ours"}`}))
	requests := map[string]servertest.Request{}
	for _, route := range api.Routes() {
		if strings.Contains(route.Path, "{id}") && route.Class == api.ClassUser {
			requests[route.ID] = servertest.Request{Method: route.Method, Path: route.URL(task.ID), Token: mallory}
		}
	}
	if len(requests) < 3 {
		t.Fatalf("only %d routes take an id", len(requests))
	}
	requests["reports.create"] = servertest.Request{Method: "POST", Path: "/api/v1/reports", Token: mallory, Body: `{"taskId":"` + task.ID + `","reason":"x"}`}
	for id, request := range requests {
		if request.Method == http.MethodPatch {
			request.Body = `{"title":"theirs"}`
		}
		resp := s.Do(request)
		if p := servertest.JSON[api.Problem](t, resp); resp.StatusCode != http.StatusNotFound || p.Code != api.CodeNotFound {
			t.Errorf("%s: %d %s", id, resp.StatusCode, resp.Body)
		}
	}
	for _, path := range []string{"/api/v1/tasks", "/api/v1/tasks/export"} {
		if resp := s.Do(servertest.Request{Path: path, Token: mallory}); bytes.Contains(resp.Body, []byte(task.ID)) {
			t.Errorf("%s shows another tenant's task", path)
		}
	}
	if got := servertest.JSON[api.Task](t, s.Do(servertest.Request{Path: "/api/v1/tasks/" + task.ID, Token: alice})); got.Title != "ours" {
		t.Errorf("the task has become %+v", got)
	}
}

// example:end

// A hundred people of one office renew their sessions within a minute: each has a budget of their own.
func TestAnOfficeRenewsItsSessions(t *testing.T) {
	t.Parallel()
	const people, address = 100, "203.0.113.37"
	database := servertest.NewDatabase(t)
	s := servertest.Start(t, servertest.Env{"DATABASE_URL": database})
	cookies := make(chan string, people)
	db := storetest.Open(t, store.Config{URL: database})
	for i := range people {
		cookies <- makeSession(t, db, fmt.Sprint("person-", i))
	}
	close(cookies)
	var office sync.WaitGroup
	for range 4 {
		office.Go(func() {
			for cookie := range cookies {
				request := servertest.Request{Method: "POST", Path: "/api/v1/auth/refresh", Header: withCookie(cookie), From: address}
				resp := s.Do(request)
				// A machine that is too busy to ask its database in time is not what is tried here.
				for tries := 0; resp.StatusCode == http.StatusServiceUnavailable && tries < 20; tries++ {
					resp = s.Do(request)
				}
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%d %s", resp.StatusCode, resp.Body)
				}
			}
		})
	}
	office.Wait()
}

// makeSession signs somebody in behind the server's back, and returns their cookie's value.
func makeSession(t *testing.T, db *store.Store, person string) string {
	t.Helper()
	member, err := db.EnsureUser(t.Context(), store.Identity{Issuer: "https://issuer.example", Subject: person, OrgClaim: "office"})
	if err != nil {
		t.Fatal(err)
	}
	token := strings.ReplaceAll(uuid.NewString(), "-", "") + "abcdefghijk"
	hash := sha256.Sum256([]byte(token))
	_, err = db.CreateSession(t.Context(), store.NewSession{
		TokenHash: hash[:], UserID: member.UserID, RolesAt: time.Now(), IdleFor: time.Hour, MaxFor: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}
