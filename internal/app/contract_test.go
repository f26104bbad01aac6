package app_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// Policies as the headers state them.
const (
	edge       = `"edge";q=100;w=60`
	edgeCaller = `"edge.caller";q=1000;w=60`
	user       = `"user";q=100;w=60`
	org        = `"org";q=600;w=60`
	admin      = `"admin";q=100;w=60`
)

// A routeCase says what is promised of one route. Nothing of it is read from package api, so a budget that is lost
// there, a class that is loosened, or a number that is changed fails here.
type routeCase struct {
	method, path, body string
	// anonymous and known are the statuses without a credential, and with one.
	anonymous, known int
	// policies is RateLimit-Policy of a request with a credential.
	policies string
	// admin is the status for an administrator, where others get a 403 and spend the edge alone; policies is then theirs.
	admin int
}

// forWhom says what is promised to a caller who is or is not an administrator.
func (c routeCase) forWhom(isAdmin bool) (status int, policies string) {
	switch {
	case c.admin == 0:
		return c.known, c.policies
	case isAdmin:
		return c.admin, c.policies
	}
	return http.StatusForbidden, edgeCaller
}

func routeCases() map[string]routeCase {
	const id = "01890000-0000-7000-8000-000000000000"
	public := func(own string) string { return strings.Trim(edgeCaller+", "+own, ", ") }
	behind := func(own string) string {
		return strings.Trim(strings.Join([]string{edgeCaller, user, org, own}, ", "), ", ")
	}
	all := map[string]routeCase{
		"limits.get":       {"GET", "/api/v1/limits", "", 200, 200, public(""), 0},
		"openapi.get":      {"GET", "/api/v1/openapi.json", "", 200, 200, public(""), 0},
		"me.get":           {"GET", "/api/v1/me", "", 401, 200, behind(""), 0},
		"me.delete":        {"DELETE", "/api/v1/me", "", 401, 204, behind(""), 0},
		"org.get":          {"GET", "/api/v1/org", "", 401, 200, behind(""), 0},
		"auth.login":       {"GET", "/api/v1/auth/login", "", 302, 302, public(`"auth.login";q=10;w=60`), 0},
		"auth.callback":    {"GET", "/api/v1/auth/callback?state=x&code=y", "", 400, 400, public(""), 0},
		"auth.refresh":     {"POST", "/api/v1/auth/refresh", "", 401, 400, public(`"auth.refresh";q=30;w=60`), 0},
		"auth.logout":      {"POST", "/api/v1/auth/logout", "", 200, 200, public(""), 0},
		"auth.backchannel": {"POST", "/api/v1/auth/backchannel", "x", 415, 415, public(""), 0},

		"admin.orgs.list":        forAdmins("GET", "/orgs", "", 200, admin),
		"admin.orgs.plan":        forAdmins("PUT", "/orgs/"+id+"/plan", `{"plan":"team","reason":"x"}`, 404, admin),
		"admin.plans.list":       forAdmins("GET", "/plans", "", 200, admin),
		"admin.audit.list":       forAdmins("GET", "/audit", "", 200, admin),
		"admin.throttled":        forAdmins("GET", "/throttled", "", 200, admin),
		"admin.limiter":          forAdmins("GET", "/limiter", "", 200, admin),
		"admin.overrides.list":   forAdmins("GET", "/overrides", "", 200, admin),
		"admin.overrides.put":    forAdmins("PUT", "/overrides/user/"+id+"/user", `{"limit":1,"reason":"x"}`, 404, admin),
		"admin.overrides.delete": forAdmins("DELETE", "/overrides/user/"+id+"/user", "", 404, admin),
		"admin.limits.explain":   forAdmins("GET", "/limits/user/"+id, "", 404, admin),
		"admin.limits.reset":     forAdmins("DELETE", "/limits/user/"+id+"/user", "", 404, admin),
		"admin.users.revoke":     forAdmins("POST", "/users/"+id+"/revoke", `{"reason":"x"}`, 404, admin),
		"admin.threaddump":       forAdmins("GET", "/threaddump", "", 200, `"admin.threaddump";q=20;w=60`),
		"admin.heapdump":         forAdmins("POST", "/heapdump", "", 200, `"admin.heapdump";q=3;w=300`),
	}
	// example:begin
	const write, task = `"tasks.write";q=30;w=60`, "/api/v1/tasks/" + id
	maps.Copy(all, map[string]routeCase{
		"me.delete":          {"DELETE", "/api/v1/me", "", 401, 204, behind(write), 0},
		"tasks.list":         {"GET", "/api/v1/tasks", "", 401, 200, behind(""), 0},
		"tasks.create":       {"POST", "/api/v1/tasks", `{"title":"x"}`, 401, 201, behind(write), 0},
		"tasks.parse":        {"POST", "/api/v1/tasks/parse", `{"text":"x"}`, 401, 200, behind(`"tasks.parse";q=10;w=60, "tasks.parse.burst";q=3;w=1, "ai.tokens";q=20000;w=86400`), 0},
		"tasks.export":       {"GET", "/api/v1/tasks/export", "", 401, 200, behind(`"tasks.export";q=5;w=60`), 0},
		"tasks.get":          {"GET", task, "", 401, 404, behind(""), 0},
		"tasks.update":       {"PATCH", task, `{}`, 401, 404, behind(write), 0},
		"tasks.delete":       {"DELETE", task, "", 401, 404, behind(write), 0},
		"reports.create":     {"POST", "/api/v1/reports", `{"taskId":"` + id + `","reason":"x"}`, 401, 404, behind(`"reports.create";q=10;w=60`), 0},
		"admin.reports.list": forAdmins("GET", "/reports", "", 200, admin),
	})
	// example:end
	return all
}

func forAdmins(method, path, body string, status int, own string) routeCase {
	return routeCase{method, "/api/v1/admin" + path, body, http.StatusUnauthorized, 0, edgeCaller + ", " + own, status}
}

// Every route of the contract is protected as promised, and charges what is promised.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	cases := routeCases()
	for _, route := range api.Routes() {
		c, ok := cases[route.ID]
		if !ok {
			t.Errorf("route %s has no case: say here what is promised of it", route.ID)
			continue
		}
		delete(cases, route.ID)
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			request := servertest.Request{Method: c.method, Path: c.path, Body: c.body, From: "203.0.113.50"}
			resp := s.Do(request)
			want(t, resp, c.anonymous)
			if got := resp.Header.Get("RateLimit-Policy"); c.anonymous == http.StatusUnauthorized && got != edge {
				t.Errorf("without a credential %s was charged, want the edge alone", got)
			}
			for _, roles := range [][]string{nil, {"admin"}} {
				status, policies := c.forWhom(roles != nil)
				request.Token = issuer.Token(route.ID+strings.Join(roles, ""), "org-of-"+route.ID, roles...)
				want(t, s.Do(servertest.Request{Path: "/api/v1/limits", Token: request.Token}), http.StatusOK) // Known from here on.
				resp = s.Do(request)
				want(t, resp, status)
				if got := resp.Header.Get("RateLimit-Policy"); got != policies {
					t.Errorf("charged\n%s, want\n%s", got, policies)
				}
				if resp.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("Cache-Control is %q", resp.Header.Get("Cache-Control"))
				}
			}
		})
	}
	for id := range cases {
		t.Errorf("a case for %s, which is no route", id)
	}
}

// Each own budget of a route is enforced at its number, and the others go on.
func TestEveryRouteBudget(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	const missing = "01890000-0000-7000-8000-000000000000" // example:line
	cases := map[string]struct {
		request   servertest.Request
		limit     int
		budget    string
		allowance string
	}{
		// example:begin
		"tasks.create":   {servertest.Request{Method: "POST", Path: "/api/v1/tasks", Body: `{"title":"x"}`}, 30, "tasks.write", "30 requests per 60s"},
		"tasks.update":   {servertest.Request{Method: "PATCH", Path: "/api/v1/tasks/" + missing, Body: `{}`}, 30, "tasks.write", "30 requests per 60s"},
		"tasks.delete":   {servertest.Request{Method: "DELETE", Path: "/api/v1/tasks/" + missing}, 30, "tasks.write", "30 requests per 60s"},
		"tasks.export":   {servertest.Request{Path: "/api/v1/tasks/export"}, 5, "tasks.export", "5 requests per 60s"},
		"reports.create": {servertest.Request{Method: "POST", Path: "/api/v1/reports", Body: `{"taskId":"` + missing + `","reason":"x"}`}, 10, "reports.create", "10 requests per 60s"},
		// example:end
		"me.get":     {servertest.Request{Path: "/api/v1/me"}, 100, "user", "100 requests per 60s"},
		"auth.login": {servertest.Request{Path: "/api/v1/auth/login", From: "203.0.113.60"}, 10, "auth.login", "10 sign-ins per 60s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "auth.login" {
				c.request.Token = issuer.Token(name, "org-of-"+name)
			}
			for i := range c.limit {
				if resp := s.Do(c.request); resp.StatusCode == http.StatusTooManyRequests {
					t.Fatalf("request %d of %d was refused: %s", i+1, c.limit, resp.Body)
				}
			}
			wantRateLimited(t, s.Do(c.request), c.budget, c.allowance)
			if c.budget != "user" && c.request.Token != "" {
				want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: c.request.Token}), http.StatusOK)
			}
		})
	}
}

// example:begin

// The parse route's burst and its minute are refused each by its own name, and lists still work.
func TestParseBudgets(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	carol := s.Token("carol")
	admitted, burst := 0, 0
	for admitted < 10 {
		resp := s.Do(servertest.Request{Method: "POST", Path: "/api/v1/tasks/parse", Token: carol, Body: `{"text":"call Bob tomorrow"}`})
		if resp.StatusCode == http.StatusOK {
			admitted++
			continue
		}
		burst++
		p := servertest.JSON[api.Problem](t, resp)
		if !slices.Equal(p.ViolatedPolicies, []string{"tasks.parse.burst"}) || p.RetryAfterSeconds != 1 {
			t.Fatalf("after %d: %s", admitted, resp.Body)
		}
		if burst > 10 {
			t.Fatal("the burst budget does not recover")
		}
		time.Sleep(time.Duration(p.RetryAfter) * time.Millisecond) // The wait that the answer promises to be enough.
	}
	resp := s.Do(servertest.Request{Method: "POST", Path: "/api/v1/tasks/parse", Token: carol, Body: `{"text":"x"}`})
	if p := servertest.JSON[api.Problem](t, resp); resp.StatusCode != http.StatusTooManyRequests || !slices.Contains(p.ViolatedPolicies, "tasks.parse") {
		t.Errorf("the 11th parse: %d %s", resp.StatusCode, resp.Body)
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/tasks", Token: carol}), http.StatusOK)
}

// example:end

// What fails before the budgets spends nothing but the edge.
func TestFailuresSpendOnlyTheEdge(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := s.Token("alice")
	session := http.Header{"Cookie": {"other=1"}, "Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	cases := []struct {
		request servertest.Request
		status  int
		code    api.Code
	}{
		{servertest.Request{Path: "/api/v1/me"}, 401, api.CodeAuthFailed},
		{servertest.Request{Path: "/api/v1/me", Token: "a.b.c"}, 401, api.CodeAuthFailed},
		// example:begin
		{servertest.Request{Path: "/api/v1/tasks/parse", Token: alice}, 405, api.CodeMethodNotAllowed},
		{servertest.Request{Method: "DELETE", Path: "/api/v1/tasks/parse", Token: alice}, 405, api.CodeMethodNotAllowed},
		{servertest.Request{Method: "HEAD", Path: "/api/v1/tasks/export", Token: alice}, 405, ""},
		// example:end
		{servertest.Request{Method: "PUT", Path: "/api/v1/me", Token: alice}, 405, api.CodeMethodNotAllowed},
		{servertest.Request{Path: "/api/v1/reports", Token: alice}, 405, api.CodeMethodNotAllowed}, // example:line
		{servertest.Request{Path: "/api/v1/me/", Token: alice}, 404, api.CodeNotFound},
		{servertest.Request{Path: "//api/v1/me", Token: alice}, 404, api.CodeNotFound},
		{servertest.Request{Path: "/api/v1//me", Token: alice}, 404, api.CodeNotFound},
		{servertest.Request{Method: "DELETE", Path: "/api/v1/me", Token: alice, Header: session}, 403, api.CodeForbidden},
	}
	for _, c := range cases {
		resp := s.Do(c.request)
		want(t, resp, c.status)
		if p := resp.Header.Get("RateLimit-Policy"); p != edge && p != edgeCaller {
			t.Errorf("%s %s was charged %s", c.request.Method, c.request.Path, p)
		}
		if c.code != "" && servertest.JSON[api.Problem](t, resp).Code != c.code {
			t.Errorf("%s %s: %s", c.request.Method, c.request.Path, resp.Body)
		}
		if c.status == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: a 405 without Allow", c.request.Method, c.request.Path)
		}
	}
	for _, b := range limits(t, s, alice) {
		if b.Name != "edge.caller" && *b.Remaining != *b.Limit {
			t.Errorf("%s has %d of %d left", b.Name, *b.Remaining, *b.Limit)
		}
	}
}

func limits(t *testing.T, s *servertest.Server, token string) []api.LimitStatus {
	t.Helper()
	resp := s.Do(servertest.Request{Path: "/api/v1/limits", Token: token})
	want(t, resp, http.StatusOK)
	return servertest.JSON[api.Limits](t, resp).Budgets
}

func status(t *testing.T, budgets []api.LimitStatus, name string) api.LimitStatus {
	t.Helper()
	i := slices.IndexFunc(budgets, func(b api.LimitStatus) bool { return b.Name == name })
	if i < 0 {
		t.Fatalf("%s is not among %+v", name, budgets)
	}
	return budgets[i]
}

// limits.get looks and spends nothing; without a credential it tells of the address alone; a bad one is refused.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	anonymous := servertest.JSON[api.Limits](t, s.Do(servertest.Request{Path: "/api/v1/limits", From: "203.0.113.70"}))
	if len(anonymous.Budgets) != 1 || anonymous.Caller.Kind != "address" || *status(t, anonymous.Budgets, "edge").Remaining != 99 {
		t.Errorf("without a credential: %+v", anonymous)
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/limits", Token: "a.b.c"}), http.StatusUnauthorized)
	carol := s.Token("carol")
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: carol}), http.StatusOK)
	limits(t, s, carol)
	got := limits(t, s, carol)
	if b := status(t, got, "user"); *b.Remaining != 99 || *b.Limit != 100 || b.WindowSeconds != 60 || b.ResetMS < 1 || b.Source != "table" || b.Store != "memory" || b.Degraded || !b.Enforced {
		t.Errorf("user: %+v", b)
	}
	if b := status(t, got, "edge.caller"); *b.Remaining != 997 {
		t.Errorf("edge.caller after three requests: %d left", *b.Remaining)
	}
	// example:begin
	if b := status(t, got, "tasks.parse"); !slices.Equal(b.Routes, []string{"tasks.parse"}) || b.ResetMS != 0 || b.Per != api.PerUser {
		t.Errorf("tasks.parse: %+v", b)
	}
	// example:end
	if b := status(t, got, "org"); b.RefillPerSecond != 10 || *b.Limit != 600 || b.Algorithm != api.Bucket {
		t.Errorf("org: %+v", b)
	}
}

// The document that is served is the one that the answers are valid against.
func TestServedOpenAPI(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	resp := s.Do(servertest.Request{Path: "/api/v1/openapi.json"})
	want(t, resp, http.StatusOK)
	if _, err := openapi3.NewLoader().LoadFromData(resp.Body); err != nil {
		t.Error(err)
	}
}
