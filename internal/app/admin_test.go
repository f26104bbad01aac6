package app_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// An administrator of a foreign issuer calls routes below /api/v1/admin.
type administrator struct {
	t     *testing.T
	s     *servertest.Server
	token string
	from  string
}

func newAdministrator(t *testing.T, s *servertest.Server, issuer *servertest.Issuer, name string) administrator {
	t.Helper()
	return administrator{t: t, s: s, token: issuer.Token(name, "staff", "admin")}
}

func (a administrator) do(method, path, body string) servertest.Response {
	a.t.Helper()
	return a.s.Do(servertest.Request{Method: method, Path: "/api/v1/admin" + path, Body: body, Token: a.token, From: a.from})
}

// must is do that is answered with success.
func (a administrator) must(method, path, body string) servertest.Response {
	a.t.Helper()
	resp := a.do(method, path, body)
	if resp.StatusCode >= http.StatusMultipleChoices {
		a.t.Fatalf("%s %s answered %d: %s", method, path, resp.StatusCode, resp.Body)
	}
	return resp
}

// audit is the newest entry.
func (a administrator) audit() api.AuditEntry {
	a.t.Helper()
	list := servertest.JSON[api.AuditList](a.t, a.must("GET", "/audit?limit=1", ""))
	if len(list.Items) == 0 {
		a.t.Fatal("the audit is empty")
	}
	return list.Items[0]
}

func me(t *testing.T, s *servertest.Server, token string) api.Me {
	t.Helper()
	resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: token})
	want(t, resp, http.StatusOK)
	return servertest.JSON[api.Me](t, resp)
}

// Everybody together gets three heap dumps: the fourth is refused, whoever asks from wherever on whichever process. Who is no
// administrator cannot spend one of them.
func TestHeapdumps(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	one, two := servertest.StartTwo(t, issuer.Env())
	stranger := administrator{t: t, s: one, token: issuer.Token("mallory", "staff")}
	for range 5 {
		resp := stranger.do("POST", "/heapdump", "")
		wantProblem(t, resp, http.StatusForbidden, api.CodeForbidden)
		if got := resp.Header.Get("RateLimit-Policy"); strings.Contains(got, "admin") {
			t.Fatalf("a person without the role was charged %s", got)
		}
	}
	var dumps []servertest.Response
	for i := range 4 {
		admin := newAdministrator(t, []*servertest.Server{one, two}[i%2], issuer, fmt.Sprint("admin-", i/2))
		admin.from = fmt.Sprintf("203.0.113.%d", 80+i%2)
		dumps = append(dumps, admin.do("POST", "/heapdump?reason=memory+grows", ""))
	}
	for _, dump := range dumps[:3] {
		want(t, dump, http.StatusOK)
		profile, err := gzip.NewReader(bytes.NewReader(dump.Body))
		if err != nil {
			t.Fatalf("a heap profile is gzipped: %v", err)
		}
		if _, err := io.Copy(io.Discard, profile); err != nil {
			t.Error(err)
		}
	}
	wantRateLimited(t, dumps[3], "admin.heapdump", "3 heap dumps per 300s")
	admin := newAdministrator(t, one, issuer, "admin-0")
	list := servertest.JSON[api.AuditList](t, admin.must("GET", "/audit", ""))
	if len(list.Items) != 3 {
		t.Errorf("the audit has %d entries, want one for each dump that was made", len(list.Items))
	}
	if e := list.Items[0]; e.Action != "admin.heapdump" || e.Target != "process" || e.Reason != "memory grows" || e.Actor.Name != "admin-1" && e.Actor.Name != "admin-0" {
		t.Errorf("the audit says %+v", e)
	}
	if n := len(one.Logs("administrator acted")) + len(two.Logs("administrator acted")); n != 3 {
		t.Errorf("%d acts were logged", n)
	}
}

func TestThreaddump(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	admin := newAdministrator(t, servertest.Start(t, issuer.Env()), issuer, "root")
	resp := admin.must("GET", "/threaddump", "")
	if !bytes.Contains(resp.Body, []byte("goroutine ")) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s: %.200s", resp.Header.Get("Content-Type"), resp.Body)
	}
	if e := admin.audit(); e.Action != "admin.threaddump" || e.RequestID != resp.Header.Get("X-Request-ID") {
		t.Errorf("the audit says %+v", e)
	}
	want(t, admin.do("HEAD", "/threaddump", ""), http.StatusMethodNotAllowed)
}

// What an administrator asks for spends their admin budget, and not what they have as a user.
func TestAdministratorsBudget(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	admin := newAdministrator(t, servertest.Start(t, issuer.Env()), issuer, "root")
	for range 3 {
		admin.must("GET", "/orgs", "")
	}
	budgets := limits(t, admin.s, admin.token)
	if b := status(t, budgets, "admin"); *b.Remaining != 97 {
		t.Errorf("admin has %d left", *b.Remaining)
	}
	if b := status(t, budgets, "user"); *b.Remaining != 100 {
		t.Errorf("user has %d left", *b.Remaining)
	}
	for _, b := range limits(t, admin.s, issuer.Token("alice", "acme")) {
		if strings.HasPrefix(b.Name, "admin") {
			t.Errorf("%s is told to somebody who has no use for it", b.Name)
		}
	}
}

// The lists page, newest first, and say what is wrong with a query.
func TestAdminLists(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	admin := newAdministrator(t, s, issuer, "root")
	for i := range 3 {
		token := issuer.Token(fmt.Sprint("member-", i), fmt.Sprint("org-", i))
		me(t, s, token)
		// example:begin
		task := servertest.JSON[api.Task](t, s.Do(servertest.Request{Method: "POST", Path: "/api/v1/tasks", Token: token, Body: `{"title":"spam"}`}))
		resp := s.Do(servertest.Request{Method: "POST", Path: "/api/v1/reports", Token: token, Body: fmt.Sprintf(`{"taskId":%q,"reason":"report %d"}`, task.ID, i)})
		want(t, resp, http.StatusCreated)
		// example:end
	}
	// example:begin
	var reasons []string
	for path := "/reports?limit=2"; path != ""; {
		page := servertest.JSON[api.AdminReportList](t, admin.must("GET", path, ""))
		for _, r := range page.Items {
			reasons = append(reasons, r.Reason)
			if *r.TaskTitle != "spam" || !strings.HasPrefix(r.Organisation.Name, "org-") || !strings.HasPrefix(r.ReportedBy.Name, "member-") {
				t.Errorf("the report is %+v", r)
			}
		}
		path = ""
		if page.NextCursor != "" {
			path = "/reports?limit=2&cursor=" + page.NextCursor
		}
	}
	if want := []string{"report 2", "report 1", "report 0"}; !slices.Equal(reasons, want) {
		t.Errorf("the pages hold %v, want %v", reasons, want)
	}
	wantFields(t, admin.do("GET", "/reports?limit=0&cursor=x", ""), "cursor", "limit")
	// example:end
	orgs := servertest.JSON[api.OrganisationList](t, admin.must("GET", "/orgs", ""))
	if len(orgs.Items) != 4 || orgs.Items[0].Name != "staff" || orgs.Items[1].Name != "org-2" || orgs.Items[1].Plan != "free" {
		t.Errorf("the organisations are %+v", orgs.Items)
	}
	first := servertest.JSON[api.PlanList](t, admin.must("GET", "/plans?limit=2", ""))
	second := servertest.JSON[api.PlanList](t, admin.must("GET", "/plans?limit=2&cursor="+first.NextCursor, ""))
	if len(first.Items) != 2 || len(second.Items) != 1 || second.NextCursor != "" || second.Items[0].Name != "enterprise" || first.Items[0].Organisations != 4 {
		t.Errorf("the plans are %+v and %+v", first, second)
	}
	for _, list := range []string{"/orgs", "/plans", "/audit", "/overrides"} {
		wantFields(t, admin.do("GET", list+"?limit=0&cursor=x", ""), "cursor", "limit")
	}
	wantFields(t, admin.do("GET", "/throttled?limit=201", ""), "limit")
	wantFields(t, admin.do("GET", "/overrides?scope=address", ""), "scope")
	wantFields(t, admin.do("GET", "/overrides?id=x", ""), "id")
}

// wantFields insists on a 422 about these fields, in whichever order.
func wantFields(t *testing.T, resp servertest.Response, names ...string) {
	t.Helper()
	wantProblem(t, resp, http.StatusUnprocessableEntity, api.CodeValidationFailed)
	var got []string
	for _, f := range servertest.JSON[api.Problem](t, resp).Fields {
		got = append(got, f.Field)
	}
	if slices.Sort(got); !slices.Equal(got, names) {
		t.Errorf("%s %s is wrong in %v, want %v: %s", resp.Request.Method, resp.Request.URL, got, names, resp.Body)
	}
}

// Each refusal of an override says which field, or which segment of the path, and why.
func TestOverrideFaults(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	admin := newAdministrator(t, s, issuer, "root")
	alice := me(t, s, issuer.Token("alice", "acme"))
	user, organisation := "/overrides/user/"+alice.ID, "/overrides/organisation/"+alice.Organisation.ID
	cases := []struct {
		path, body string
		fields     []string
	}{
		{"/overrides/address/203.0.113.1/user", `{"limit":1,"reason":"x"}`, []string{"scope"}},
		{user + "/nothing", `{"limit":1,"reason":"x"}`, []string{"budget"}},
		{user + "/edge.caller", `{"limit":1,"reason":"x"}`, []string{"budget"}},
		{user + "/auth.login", `{"limit":1,"reason":"x"}`, []string{"budget"}},
		{user + "/admin.heapdump", `{"limit":1,"reason":"x"}`, []string{"budget"}},
		{user + "/org", `{"limit":1,"reason":"x"}`, []string{"budget"}},
		{user + "/admin", `{}`, []string{"limit", "reason"}},
		{user + "/admin", `{"limit":1,"unlimited":true,"reason":"x"}`, []string{"unlimited"}},
		{user + "/admin", `{"limit":-1,"reason":"x"}`, []string{"limit"}},
		{user + "/admin", `{"limit":1025,"reason":"x"}`, []string{"limit"}},
		{organisation + "/org", `{"limit":5,"refillPerSecond":1000000000001,"reason":"x"}`, []string{"refillPerSecond"}},
		{user + "/admin", `{"limit":5,"refillPerSecond":5,"reason":"x"}`, []string{"refillPerSecond"}},
		{user + "/admin", `{"limit":5,"expiresAt":"2020-01-01T00:00:00Z","reason":"x"}`, []string{"expiresAt"}},
		{user + "/user", `{"limit":1001,"reason":"x"}`, []string{"limit"}},
		{user + "/user", `{"unlimited":true,"reason":"x"}`, []string{"limit"}},
		{user + "/admin", `{"limit":1025,"refillPerSecond":0,"expiresAt":"2020-01-01T00:00:00Z"}`, []string{"expiresAt", "limit", "reason", "refillPerSecond"}},
		{user + "/nothing", `{"limit":-1}`, []string{"budget", "limit", "reason"}},
		{organisation + "/org", `{"limit":5,"refillPerSecond":0,"reason":"x"}`, []string{"refillPerSecond"}},
		{organisation + "/org", `{"limit":1000000000,"refillPerSecond":1,"reason":"x"}`, []string{"limit"}},
	}
	for _, c := range cases {
		wantFields(t, admin.do("PUT", c.path, c.body), c.fields...)
	}
	wantProblem(t, admin.do("PUT", "/overrides/plan/gold/user", `{"limit":1,"reason":"x"}`), http.StatusNotFound, api.CodeNotFound)
	wantProblem(t, admin.do("PUT", "/overrides/user/alice/user", `{"limit":1,"reason":"x"}`), http.StatusNotFound, api.CodeNotFound)
	wantProblem(t, admin.do("PUT", user+"/user", `{"limit":"1","reason":"x"}`), http.StatusBadRequest, api.CodeInvalidJSON)
	wantFields(t, admin.do("PUT", "/orgs/"+alice.Organisation.ID+"/plan", `{"plan":"gold","reason":"x"}`), "plan")
	wantFields(t, admin.do("PUT", "/orgs/"+alice.Organisation.ID+"/plan", `{"plan":"team"}`), "reason")
	wantFields(t, admin.do("POST", "/users/"+alice.ID+"/revoke", `{"reason":" "}`), "reason")
	wantFields(t, admin.do("DELETE", "/limits/user/"+alice.ID+"/edge", ""), "budget")
	wantFields(t, admin.do("GET", "/limits/plan/team", ""), "scope")
	wantFields(t, admin.do("GET", "/limits/address/nowhere", ""), "id")
	if list := servertest.JSON[api.AuditList](t, admin.must("GET", "/audit", "")); len(list.Items) != 0 {
		t.Errorf("what was refused is in the audit: %+v", list.Items)
	}
}

// Nobody who is no administrator gets past the role, on any route.
func TestUsersOnAdminRoutes(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	token := issuer.Token("alice", "acme", "user", "administrator")
	alice := me(t, s, token)
	for _, route := range api.Routes() {
		if route.Class != api.ClassAdmin {
			continue
		}
		path := strings.NewReplacer("{scope}", "user", "{id}", alice.ID, "{budget}", "user").Replace(route.Path)
		resp := s.Do(servertest.Request{Method: route.Method, Path: path, Token: token, Body: `{"limit":1000,"plan":"enterprise","reason":"x"}`})
		wantProblem(t, resp, http.StatusForbidden, api.CodeForbidden)
		if got := resp.Header.Get("RateLimit-Policy"); got != edgeCaller {
			t.Errorf("%s was charged %s", route.ID, got)
		}
	}
}
