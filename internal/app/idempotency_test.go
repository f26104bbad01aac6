package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// keyed is a POST with an idempotency key.
func keyed(token, key, path, body string) servertest.Request {
	return servertest.Request{Method: "POST", Path: path, Token: token, Body: body, Header: http.Header{"Idempotency-Key": {key}}}
}

func wantReplay(t *testing.T, got, first servertest.Response) {
	t.Helper()
	if got.StatusCode != first.StatusCode || !bytes.Equal(got.Body, first.Body) || got.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("answered %d %v\n%s\nwant the first answer: %d\n%s", got.StatusCode, got.Header, got.Body, first.StatusCode, first.Body)
	}
	for _, name := range []string{"Location", "Content-Type", "Content-Length"} {
		if got.Header.Get(name) != first.Header.Get(name) {
			t.Errorf("%s is %q, was %q", name, got.Header.Get(name), first.Header.Get(name))
		}
	}
	// It is charged to the edge alone.
	if policy := got.Header.Get("RateLimit-Policy"); policy != edgeCaller {
		t.Errorf("the replay was charged %s", policy)
	}
}

func titles(t *testing.T, a as) (all []string) {
	t.Helper()
	for _, task := range servertest.JSON[api.TaskList](t, a.do("GET", "/api/v1/tasks?limit=200", "")).Items {
		all = append(all, task.Title)
	}
	return all
}

// Each route that takes a key answers the same request again, byte for byte, and is charged for once.
func TestEveryKeyedRouteIsReplayed(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	cases := routeCases()
	for _, route := range api.Routes() {
		if !route.TakesKey {
			continue
		}
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			alice := as{t, s, issuer.Token("alice-"+route.ID, "org-of-"+route.ID)}
			task := alice.create(`{"title":"reported"}`)
			body := strings.Replace(cases[route.ID].body, "01890000-0000-7000-8000-000000000000", task.ID, 1)
			request := keyed(alice.token, "k", cases[route.ID].path, body)
			first := s.Do(request)
			want(t, first, route.Status)
			if first.Header.Get("Idempotency-Replayed") != "" {
				t.Error("the first answer says that it is a replay")
			}
			before := limits(t, s, alice.token)
			for range 3 {
				wantReplay(t, s.Do(request), first)
			}
			for i, b := range limits(t, s, alice.token) {
				if b.Name != "edge.caller" && b.Name != "org" && *b.Remaining != *before[i].Remaining {
					t.Errorf("the replays spent %d of %s", *before[i].Remaining-*b.Remaining, b.Name)
				}
			}
		})
	}
}

// A key belongs to one request of one person on one route, whatever device it comes from.
func TestWhoseKeyItIs(t *testing.T) {
	t.Parallel()
	database := storetest.URL(t)
	s := servertest.Start(t, servertest.Env{"DATABASE_URL": database})
	alice, bob := as{t, s, s.Token("alice")}, as{t, s, s.Token("bob")}
	const path, body = "/api/v1/tasks", `{"title":"once"}`
	first := s.Do(keyed(alice.token, "k", path, body))
	want(t, first, http.StatusCreated)

	reused := map[string]servertest.Request{
		"other body":         keyed(alice.token, "k", path, `{"title":"twice"}`),
		"same JSON, spaced":  keyed(alice.token, "k", path, `{"title": "once"}`),
		"other query":        keyed(alice.token, "k", path+"?x=1", body),
		"other content type": keyed(alice.token, "k", path, body),
	}
	reused["other content type"].Header.Set("Content-Type", "application/json; charset=utf-8")
	for name, request := range reused {
		resp := s.Do(request)
		wantProblem(t, resp, http.StatusUnprocessableEntity, api.CodeIdempotencyKeyReused)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	fresh := map[string]servertest.Request{
		"another person": keyed(bob.token, "k", path, body), "another route": keyed(alice.token, "k", "/api/v1/tasks/parse", `{"text":"x"}`),
		"another key": keyed(alice.token, "K", path, body), "no key": {Method: "POST", Path: path, Token: alice.token, Body: body},
	}
	for name, request := range fresh {
		if resp := s.Do(request); resp.StatusCode/100 != 2 || resp.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %d %v", name, resp.StatusCode, resp.Header)
		}
	}

	// After signing out, with a new token, from another address.
	want(t, alice.do("POST", "/api/v1/auth/logout", ""), http.StatusOK)
	later := keyed(s.Token("alice"), "k", path, body)
	later.From = "203.0.113.91"
	wantReplay(t, s.Do(later), first)

	execute(t, database, "UPDATE idempotency_keys SET expires_at = clock_timestamp()")
	again := s.Do(later)
	want(t, again, http.StatusCreated)
	if bytes.Equal(again.Body, first.Body) {
		t.Error("after its 24 hours the answer is still there")
	}
	// One of alice's key and one more of its second day, one of her other key, one of no key, and bob's.
	if n := strings.Count(strings.Join(titles(t, bob), " "), "once"); n != 5 {
		t.Errorf("there are %d tasks, want 5", n)
	}
}

// A refusal or failure is not kept: the request may be mended, or sent again, under its key.
func TestRefusalsAreNotKept(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := as{t, s, s.Token("alice")}
	steps := []struct {
		path, body string
		status     int
	}{
		{"/api/v1/tasks", `{"title":`, 400},
		{"/api/v1/tasks", `{"title":""}`, 422},
		{"/api/v1/tasks", `{"title":"` + strings.Repeat("x", 65<<10) + `"}`, 413},
		{"/api/v1/tasks", `{"title":"mended"}`, 201},
		{"/api/v1/reports", `{"taskId":"01890000-0000-7000-8000-000000000000","reason":"x"}`, 404},
		{"/api/v1/reports", `{"taskId":"01890000-0000-7000-8000-000000000000","reason":"x"}`, 404},
	}
	for _, step := range steps {
		resp := s.Do(keyed(alice.token, "k", step.path, step.body))
		want(t, resp, step.status)
		if resp.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s was kept", resp.Body)
		}
	}
	// Nor is a 429: with its budget spent a new key is refused, again and again, and one that was answered still is.
	mended := keyed(alice.token, "k", "/api/v1/tasks", `{"title":"mended"}`)
	for range 100 {
		alice.do("POST", "/api/v1/tasks", `{`)
	}
	for range 2 {
		wantProblem(t, s.Do(keyed(alice.token, "new", "/api/v1/tasks", `{"title":"x"}`)), http.StatusTooManyRequests, api.CodeRateLimitExceeded)
	}
	if resp := s.Do(mended); resp.StatusCode != http.StatusCreated || resp.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("with the budget spent the replay is %d %s", resp.StatusCode, resp.Body)
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := s.Token("alice")
	for name, values := range map[string][]string{
		"empty": {""}, "too long": {strings.Repeat("x", 256)}, "not ASCII": {"clé"}, "twice": {"a", "b"}, "a tab": {"a\tb"},
	} {
		request := keyed(alice, "", "/api/v1/tasks", `{"title":"x"}`)
		request.Header["Idempotency-Key"] = values
		resp := s.Do(request)
		wantProblem(t, resp, http.StatusBadRequest, api.CodeBadRequest)
		if p := servertest.JSON[api.Problem](t, resp); !strings.Contains(p.Detail, "Idempotency-Key") {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	// The header means nothing to other routes, and whoever is not signed in is told just that.
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: alice, Header: http.Header{"Idempotency-Key": {""}}}), http.StatusOK)
	want(t, s.Do(keyed("", "k", "/api/v1/tasks", `{"title":"x"}`)), http.StatusUnauthorized)
}

// Two servers get the same request at once, several times each, fifty times over: it is done once, and everybody who
// gets an answer gets the same.
func TestTwoServersRaceForAKey(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	shared := servertest.Env{"DATABASE_URL": storetest.URL(t)}
	servers := []*servertest.Server{servertest.Start(t, issuer.Env(), shared), servertest.Start(t, issuer.Env(), shared)}
	const people, keys = 5, 10
	for p := range people {
		alice := as{t, servers[0], issuer.Token(fmt.Sprint("racer ", p), fmt.Sprint("racers ", p))}
		for k := range keys {
			race(t, servers, keyed(alice.token, fmt.Sprint(k), "/api/v1/tasks", fmt.Sprintf(`{"title":"task %d"}`, k)))
		}
		if got := titles(t, alice); len(got) != keys {
			t.Errorf("%d requests made the tasks %v", keys, got)
		}
	}
}

func race(t *testing.T, servers []*servertest.Server, request servertest.Request) {
	t.Helper()
	answers := make([]servertest.Response, 2*len(servers))
	var racers sync.WaitGroup
	for i := range answers {
		racers.Go(func() { answers[i] = servers[i%len(servers)].Do(request) })
	}
	racers.Wait()
	var first []byte
	replays := 0
	for _, a := range answers {
		switch {
		case a.StatusCode == http.StatusConflict:
			if a.Header.Get("Retry-After") != "1" || servertest.JSON[api.Problem](t, a).Code != api.CodeConflict {
				t.Errorf("refused with %v %s", a.Header, a.Body)
			}
			continue
		case a.StatusCode != http.StatusCreated:
			t.Errorf("answered %d %s", a.StatusCode, a.Body)
		case first != nil && !bytes.Equal(first, a.Body):
			t.Errorf("answered\n%s\nand\n%s", first, a.Body)
		}
		first = a.Body
		if a.Header.Get("Idempotency-Replayed") == "" {
			replays++
		}
	}
	if replays > 1 {
		t.Errorf("%d answers are no replays", replays)
	}
}

// A server that dies while the request is at work leaves the claim behind. Until that ends the same request is told to come
// again; then it is done.
func TestAClaimThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	database := storetest.URL(t)
	s := servertest.Start(t, servertest.Env{"DATABASE_URL": database})
	alice := as{t, s, s.Token("alice")}
	request := keyed(alice.token, "k", "/api/v1/tasks", `{"title":"survivor"}`)
	want(t, s.Do(request), http.StatusCreated)
	execute(t, database, "DELETE FROM tasks WHERE title = 'survivor'")
	execute(t, database, "UPDATE idempotency_keys SET status = NULL, expires_at = clock_timestamp() + interval '1 hour'")
	resp := s.Do(request)
	wantProblem(t, resp, http.StatusConflict, api.CodeConflict)
	if got := resp.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	wantProblem(t, s.Do(keyed(alice.token, "k", "/api/v1/tasks", `{"title":"another"}`)), http.StatusUnprocessableEntity, api.CodeIdempotencyKeyReused)
	if p := resp.Header.Get("RateLimit-Policy"); p != edgeCaller {
		t.Errorf("it was charged %s", p)
	}
	execute(t, database, "UPDATE idempotency_keys SET expires_at = clock_timestamp()")
	resp = s.Do(request)
	want(t, resp, http.StatusCreated)
	if resp.Header.Get("Idempotency-Replayed") != "" {
		t.Error("nothing was answered before, and it was replayed")
	}
}

// A caller who never saw the answer, because the connection or the server went down after the write, gets it when asking
// again, from another server too.
func TestAnAnswerThatGotLost(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	shared := servertest.Env{"DATABASE_URL": storetest.URL(t)}
	one := servertest.Start(t, issuer.Env(), shared)
	alice := as{t, one, issuer.Token("alice", "acme")}
	const body = `{"title":"written"}`
	conn := dial(t, one)
	_, err := fmt.Fprintf(conn, "POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Idempotency-Key: k\r\nContent-Length: %d\r\n\r\n%s", alice.token, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	first, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	if err := one.Stop(); err != nil {
		t.Fatal(err)
	}
	two := servertest.Start(t, issuer.Env(), shared)
	resp := two.Do(keyed(alice.token, "k", "/api/v1/tasks", body))
	want(t, resp, http.StatusCreated)
	if resp.Header.Get("Idempotency-Replayed") != "true" || resp.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("answered %v, want a replay of %v", resp.Header, first.Header)
	}
	if got := titles(t, as{t, two, alice.token}); len(got) != 1 {
		t.Errorf("there are the tasks %v", got)
	}
}

// Without the database the key cannot be looked up, so the request gets the 503 that it would get anyhow, in time.
func TestKeysWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	database := storetest.URL(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"DATABASE_URL": database})
	alice := issuer.Token("alice", "acme")
	request := keyed(alice, "k", "/api/v1/tasks", `{"title":"later"}`)
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: alice}), http.StatusOK)
	execute(t, database, "ALTER TABLE idempotency_keys RENAME TO lost")
	wantProblem(t, s.Do(request), http.StatusInternalServerError, api.CodeInternal)
	execute(t, database, "ALTER TABLE lost RENAME TO idempotency_keys")
	accept(t, database, false)
	wantProblem(t, s.Do(request), http.StatusServiceUnavailable, api.CodeUnavailable)
	accept(t, database, true)
	var resp servertest.Response
	for deadline := time.Now().Add(20 * time.Second); resp.Response == nil || resp.StatusCode != http.StatusCreated; resp = s.Do(request) {
		if time.Now().After(deadline) {
			t.Fatalf("the database is back, and the answer is %d %s", resp.StatusCode, resp.Body)
		}
	}
}
