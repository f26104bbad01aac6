package app_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/servertest"
)

// Whoever signs out at the issuer is signed out here, on every replica.
func TestSigningOutAtTheIssuer(t *testing.T) {
	t.Parallel()
	database := servertest.NewDatabase(t)
	one, two := servertest.StartTwo(t, servertest.Env{"DATABASE_URL": database})
	b := newBrowser(t, one, "203.0.113.60")
	b.signIn("alice", "/")
	other := newBrowser(t, one, "203.0.113.61")
	other.signIn("alice", "/")
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusOK)
	out := b.send("POST", "/dev/idp/logout", url.Values{"id_token_hint": {idTokenOf(t, database)}})
	want(t, out, http.StatusOK)
	b.s = two
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusUnauthorized)
	want(t, other.send("GET", "/api/v1/me", nil), http.StatusOK)
}

// idTokenOf is the ID token that the first session began with.
func idTokenOf(t *testing.T, database string) (token string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT id_token FROM sessions ORDER BY id LIMIT 1").Scan(&token); err != nil {
		t.Fatal(err)
	}
	return token
}

// The issuer's messages are answered as its protocol has it, in the one envelope.
func TestLogoutTokenAnswers(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	token := issuer.Token("alice", "acme")
	me := func() servertest.Response { return s.Do(servertest.Request{Path: "/api/v1/me", Token: token}) }
	post := func(body string) servertest.Response {
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		return s.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/backchannel", Body: body, Header: header})
	}
	want(t, me(), http.StatusOK)
	logout := "logout_token=" + issuer.LogoutToken("alice")
	for _, body := range []string{"", "x=y", "logout_token=", "logout_token=a.b.c", "logout_token=" + token, logout + "&" + logout, "%"} {
		resp := post(body)
		want(t, resp, http.StatusBadRequest)
		if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%q is answered as %s", body, got)
		}
	}
	want(t, me(), http.StatusOK)
	resp := post(logout + "&extra=ignored")
	want(t, resp, http.StatusOK)
	if resp.Header.Get("Cache-Control") != "no-store" || len(resp.Body) != 0 {
		t.Errorf("obeyed with %v and %q", resp.Header, resp.Body)
	}
	want(t, me(), http.StatusUnauthorized)
	want(t, post(logout), http.StatusBadRequest)
}
