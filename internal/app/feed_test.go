package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// A server that cannot hear of changes refuses administrators and goes on for everybody else; when it can again, it reads
// what it missed.
func TestFeedLostAlone(t *testing.T) {
	t.Parallel()
	database := servertest.NewDatabase(t)
	feed := newRole(t, database)
	issuer := servertest.StartIssuer(t)
	deaf := servertest.Start(t, issuer.Env(), servertest.Env{"DATABASE_URL": database, "DATABASE_DIRECT_URL": feed.url})
	hearing := servertest.Start(t, issuer.Env(), servertest.Env{"DATABASE_URL": database})
	root, alice, bob := issuer.Token("root", "staff", "admin"), issuer.Token("alice", "acme"), issuer.Token("bob", "acme")
	plans := func() servertest.Response {
		return deaf.Do(servertest.Request{Path: "/api/v1/admin/plans", Token: root})
	}
	me := func(token string) servertest.Response {
		return deaf.Do(servertest.Request{Path: "/api/v1/me", Token: token})
	}
	want(t, plans(), http.StatusOK)
	feed.allow(t, false)
	awaitStatus(t, plans, http.StatusServiceUnavailable)
	refused := plans()
	if p := servertest.JSON[api.Problem](t, refused); p.Code != api.CodeUnavailable || refused.Header.Get("Retry-After") != "5" {
		t.Errorf("%v %s", refused.Header, refused.Body)
	}
	want(t, me(alice), http.StatusOK)
	want(t, hearing.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/logout", Token: alice}), http.StatusOK)
	want(t, me(bob), http.StatusOK)
	feed.allow(t, true)
	awaitStatus(t, plans, http.StatusOK)
	want(t, me(alice), http.StatusUnauthorized)
	want(t, me(bob), http.StatusOK)
	if n := len(deaf.Logs("changes are not heard of until the database answers again; admin routes answer 503 meanwhile")); n != 1 {
		t.Errorf("the interruption was logged %d times", n)
	}
	if ends := deaf.Logs("changes are heard of again"); len(ends) != 1 || ends[0]["lasted"] == nil {
		t.Errorf("its end was logged as %v", ends)
	}
}

// A role is one of a test's own, so that its connections can be kept apart from others.
type role struct{ name, url, admin string }

func newRole(t *testing.T, database string) role {
	t.Helper()
	r := role{name: "feed_" + strings.ReplaceAll(uuid.NewString(), "-", ""), admin: database}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(r.name)
	r.url = u.String()
	r.run(t, "CREATE ROLE %s SUPERUSER LOGIN")
	t.Cleanup(func() { r.run(t, "DROP ROLE %s") })
	return r
}

// allow lets the role connect, or ends its connections and lets it not.
func (r role) allow(t *testing.T, yes bool) {
	t.Helper()
	if yes {
		r.run(t, "ALTER ROLE %s LOGIN")
		return
	}
	r.run(t, "ALTER ROLE %s NOLOGIN")
	r.run(t, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '%s'")
}

func (r role) run(t *testing.T, sql string) {
	t.Helper()
	ctx := context.Background() // The test's own has ended when it cleans up.
	conn, err := pgx.Connect(ctx, r.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, fmt.Sprintf(sql, r.name)); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// What cannot be pruned is said once, and neither requests nor the news of revocations wait for it.
func TestPruningThatFails(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	database := servertest.NewDatabase(t)
	env := servertest.Env{"DATABASE_URL": database}
	servertest.Start(t, issuer.Env(), env) // It migrates.
	execute(t, database, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$")
	execute(t, database, "CREATE TRIGGER refuse BEFORE DELETE ON logout_tokens FOR EACH ROW EXECUTE FUNCTION refuse()")
	execute(t, database, "INSERT INTO logout_tokens (key, expires_at) VALUES ('old', now())")
	s := servertest.Start(t, issuer.Env(), env)
	const line = "what has expired was not deleted from the database; trying again later"
	if why := fmt.Sprint(s.AwaitLog(line)["error"]); !strings.Contains(why, "prune logout tokens") || strings.Contains(why, "prune changes") {
		t.Errorf("the log says %s", why)
	}
	newAdministrator(t, s, issuer, "root").must("GET", "/orgs", "")
	if n := s.CountLogs("changes are not heard of until") + s.CountLogs("changes are heard of again"); n != 0 {
		t.Errorf("the feed was interrupted: %d lines", n)
	}
}
