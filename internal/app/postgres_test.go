package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// Servers that share a database share the budget of sign-ins, and a sign-in that completes on one is given back for both.
func TestSignInsAreCountedTogether(t *testing.T) {
	t.Parallel()
	shared := servertest.Env{"DATABASE_URL": storetest.URL(t)}
	one, two := servertest.Start(t, shared), servertest.Start(t, shared)
	const address = "203.0.113.90"
	login := servertest.Request{Path: "/api/v1/auth/login", From: address}
	newBrowser(t, two, address).signIn("alice", "/")
	for i := range 10 {
		want(t, []*servertest.Server{one, two}[i%2].Do(login), http.StatusFound)
	}
	for _, s := range []*servertest.Server{one, two} {
		wantRateLimited(t, s.Do(login), "auth.login", "10 sign-ins per 60s")
	}
}

// A sign-in that begins on one replica and ends on another is given back by that one, once.
func TestSignInAcrossReplicas(t *testing.T) {
	t.Parallel()
	one, two := servertest.StartTwo(t)
	const address = "203.0.113.91"
	b := newBrowser(t, one, address)
	target, err := url.Parse(b.choose("alice", "/tasks"))
	if err != nil {
		t.Fatal(err)
	}
	b.s = two
	done := b.send("GET", target.RequestURI(), nil)
	want(t, done, http.StatusSeeOther)
	if done.Header.Get("Location") != "/tasks" {
		t.Errorf("went to %q", done.Header.Get("Location"))
	}
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusOK)
	login := servertest.Request{Path: "/api/v1/auth/login", From: address}
	for i := range 10 {
		want(t, []*servertest.Server{one, two}[i%2].Do(login), http.StatusFound)
	}
	wantRateLimited(t, one.Do(login), "auth.login", "10 sign-ins per 60s")
}

// Without the database nobody can sign in, so its budget refuses nothing that would have worked: 503, never a made-up
// 429. It applies again once the database is back.
func TestSignInWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	database := storetest.URL(t)
	s := servertest.Start(t, servertest.Env{"DATABASE_URL": database})
	callers := 0
	login := func() servertest.Response { // Each from another address, so that only the database can be the reason.
		callers++
		return s.Do(servertest.Request{Path: "/api/v1/auth/login", From: fmt.Sprintf("10.3.%d.%d", callers/250, callers%250)})
	}
	want(t, login(), http.StatusFound)
	accept(t, database, false)
	for range 15 {
		resp := login()
		want(t, resp, http.StatusServiceUnavailable)
		if p := servertest.JSON[api.Problem](t, resp); p.Code != api.CodeLimiterUnavailable || resp.Header.Get("Retry-After") != "5" {
			t.Fatalf("Retry-After %s: %s", resp.Header.Get("Retry-After"), resp.Body)
		}
	}
	if n := s.Metric("ratelimit_decisions_total", `budget="auth.login"`, `outcome="failed_closed"`); n != 15 {
		t.Errorf("%v refusals for want of the store were counted, want 15", n)
	}
	if n := len(outages(s, "limiter store fails", "auth.login")); n != 1 {
		t.Errorf("the outage was logged %d times", n)
	}
	accept(t, database, true)
	for deadline := time.Now().Add(20 * time.Second); login().StatusCode != http.StatusFound; {
		if time.Now().After(deadline) {
			t.Fatal("nobody can sign in though the database is back")
		}
	}
}

// accept has the database accept connections, or end those that there are and refuse new ones, as one that is down does.
func accept(t *testing.T, database string, yes bool) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{
		fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", name, yes),
		fmt.Sprintf("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '%s' AND NOT %t", name, yes),
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
