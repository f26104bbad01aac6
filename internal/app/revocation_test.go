package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// knownWithin is the promise: every process refuses within a second what was revoked on another.
const knownWithin = time.Second

// slack is what a busy machine may add to it.
const slack = 20 * time.Second

// awaitStatus repeats a request until it is answered so, and says how long that took.
func awaitStatus(t *testing.T, send func() servertest.Response, status int) time.Duration {
	t.Helper()
	for began := time.Now(); ; {
		resp := send()
		took := time.Since(began)
		if resp.StatusCode == status {
			return took
		}
		if took > knownWithin+slack {
			t.Fatalf("after %v still %d: %s", took, resp.StatusCode, resp.Body)
		}
	}
}

// A token that was logged out is refused by every process; others of the same person are not.
func TestLoggedOutTokenIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	one, two := servertest.StartTwo(t)
	phone, tablet := one.Token("alice"), one.Token("alice")
	me := func(s *servertest.Server, token string) servertest.Response {
		return s.Do(servertest.Request{Path: "/api/v1/me", Token: token})
	}
	want(t, me(two, phone), http.StatusOK)
	want(t, one.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/logout", Token: phone}), http.StatusOK)
	want(t, me(one, phone), http.StatusUnauthorized)
	awaitStatus(t, func() servertest.Response { return me(two, phone) }, http.StatusUnauthorized)
	want(t, me(one, tablet), http.StatusOK)
	want(t, me(two, tablet), http.StatusOK)
}

// Signing out everywhere ends sessions and tokens on every process, and a restart forgets none of it.
func TestSignedOutEverywhere(t *testing.T) {
	t.Parallel()
	one, two := servertest.StartTwo(t)
	laptop, desktop := newBrowser(t, one, "203.0.113.70"), newBrowser(t, two, "203.0.113.71")
	laptop.signIn("alice", "/")
	desktop.s = one // Its sign-in leads through the public name.
	desktop.signIn("alice", "/")
	desktop.s = two
	phone, bobs := one.Token("alice"), one.Token("bob")
	mine := func(s *servertest.Server, token string) func() servertest.Response {
		return func() servertest.Response { return s.Do(servertest.Request{Path: "/api/v1/me", Token: token}) }
	}
	desktops := func() servertest.Response { return desktop.send("GET", "/api/v1/me", nil) }
	want(t, desktops(), http.StatusOK)
	want(t, mine(two, phone)(), http.StatusOK)
	want(t, laptop.send("POST", "/api/v1/auth/logout?everywhere=true", nil), http.StatusOK)
	want(t, mine(one, phone)(), http.StatusUnauthorized)
	want(t, desktops(), http.StatusUnauthorized) // The session is a row, and the row is gone.
	awaitStatus(t, mine(two, phone), http.StatusUnauthorized)
	want(t, mine(two, bobs)(), http.StatusOK)
	// A token that is issued later is good: at the latest in the next second.
	awaitStatus(t, func() servertest.Response { return mine(two, one.Token("alice"))() }, http.StatusOK)
}

// Known entries go with the revocation: the next request of that credential is a stranger's.
func TestRevokedCallerIsNoLongerKnown(t *testing.T) {
	t.Parallel()
	one, two := servertest.StartTwo(t)
	token := one.Token("alice")
	want(t, two.Do(servertest.Request{Path: "/api/v1/me", Token: token}), http.StatusOK)
	if n := two.Metric("ratelimit_known_callers"); n != 1 {
		t.Fatalf("%v callers are known", n)
	}
	want(t, one.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/logout?everywhere=true", Token: token}), http.StatusOK)
	for began := time.Now(); two.Metric("ratelimit_known_callers") != 0; {
		if time.Since(began) > knownWithin+slack {
			t.Fatal("the revoked caller is still known")
		}
	}
}

// What is done for another process's administrator: the row in the database is all it takes.
func TestRevokedUser(t *testing.T) {
	t.Parallel()
	database := storetest.URL(t)
	one, two := servertest.StartTwo(t, servertest.Env{"DATABASE_URL": database})
	token := one.Token("alice")
	me := func() servertest.Response { return two.Do(servertest.Request{Path: "/api/v1/me", Token: token}) }
	id := uuid.MustParse(servertest.JSON[api.Me](t, me()).ID)
	if err := storetest.Open(t, store.Config{URL: database}).RevokeUser(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, me, http.StatusUnauthorized)
}
