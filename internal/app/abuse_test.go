package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// One noisy organisation spends its own budget and nobody else's.
func TestNoisyOrganisation(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	refused := 0
	for i := range 20 {
		token := issuer.Token(fmt.Sprint("noisy-", i), "noisy")
		for range 60 {
			resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: token, From: fmt.Sprintf("10.3.0.%d", i)})
			if resp.StatusCode == http.StatusTooManyRequests {
				refused++
				wantRateLimited(t, resp, "org", "600 requests per 60s")
			}
		}
	}
	if refused == 0 {
		t.Error("1200 requests of one organisation were not refused")
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: issuer.Token("quiet", "quiet"), From: "10.3.1.1"}), http.StatusOK)
}

// example:begin

// Removing oneself and coming back is no way to a fresh budget.
func TestRemovingOneselfKeepsBudgetsSpent(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	token := issuer.Token("back-again", "org")
	for range 5 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: token}), http.StatusOK)
	}
	want(t, s.Do(servertest.Request{Method: "DELETE", Path: "/api/v1/me", Token: token}), http.StatusNoContent)
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: token}), http.StatusUnauthorized)
	again := servertest.Request{Path: "/api/v1/tasks/export"}
	resp := sendSignedIn(t, s, again, func() string { return issuer.Token("back-again", "org") })
	wantRateLimited(t, resp, "tasks.export", "5 requests per 60s")
}

// example:end

// A session is renewed 30 times a minute and no more, whoever else does.
func TestRefreshBudget(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice, bob := newBrowser(t, s, "203.0.113.90"), newBrowser(t, s, "203.0.113.90")
	alice.signIn("alice", "/")
	bob.signIn("bob", "/")
	for i := range 30 {
		if resp := alice.send("POST", "/api/v1/auth/refresh", nil); resp.StatusCode != http.StatusOK {
			t.Fatalf("refresh %d: %d %s", i+1, resp.StatusCode, resp.Body)
		}
	}
	wantRateLimited(t, alice.send("POST", "/api/v1/auth/refresh", nil), "auth.refresh", "30 requests per 60s")
	want(t, bob.send("POST", "/api/v1/auth/refresh", nil), http.StatusOK)
}

// A session that renews its token stays known: a spray that begins then does not lock it out.
func TestRenewedSessionStaysKnown(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	b := newBrowser(t, s, "203.0.113.91")
	b.signIn("alice", "/")
	want(t, b.send("POST", "/api/v1/auth/refresh", nil), http.StatusOK)
	spray(t, s, "203.0.113.91")
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusOK)
}

// dial opens a plain connection, for requests that no client library sends.
func dial(t *testing.T, s *servertest.Server) net.Conn {
	t.Helper()
	address := strings.Replace(strings.TrimPrefix(s.URL, "http://"), "localhost", "127.0.0.1", 1)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A caller who is refused at the edge, or asks for what takes no body, cannot hold a connection with a body that trickles.
func TestTricklingBodiesHoldNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	spray(t, s, "203.0.113.92")
	for path, status := range map[string]int{"/api/v1/auth/refresh": 429, "/livez": 405} {
		conn := dial(t, s)
		began := time.Now()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.92\r\nContent-Length: 1000\r\n\r\npart of it", path)
		answer := bufio.NewReader(conn)
		resp, err := http.ReadResponse(answer, nil)
		if err != nil {
			t.Fatalf("%s: no answer after %v: %v", path, time.Since(began), err)
		}
		if resp.StatusCode != status {
			t.Errorf("%s answered %d, want %d", path, resp.StatusCode, status)
		}
		if _, err := io.Copy(io.Discard, answer); err != nil {
			t.Errorf("%s: the connection was not closed: %v", path, err)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("%s held its connection for %v", path, took)
		}
	}
}

// A caller who has closed their half of the connection still gets the answer.
func TestHalfClosedCallerIsAnswered(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	conn := dial(t, s)
	fmt.Fprint(conn, "GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b.c\r\n\r\n")
	if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		t.Fatal("cannot close half a connection")
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), string(api.CodeAuthFailed)) {
		t.Errorf("answered %d %q, %v", resp.StatusCode, body, err)
	}
}

// A query that is malformed or says a thing twice is refused, rather than half of it believed.
func TestStrictQueries(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	root := issuer.Token("root", "staff", "admin")
	for query, status := range map[string]int{"?limit=%zz": 400, "?limit=5&limit=6": 422, "?limit=5": 200} {
		want(t, s.Do(servertest.Request{Path: "/api/v1/admin/orgs" + query, Token: root}), status)
	}
	want(t, s.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/logout?everywhere=1", Token: root}), http.StatusUnprocessableEntity)
}
