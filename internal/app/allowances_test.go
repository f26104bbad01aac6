package app_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/app"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/mobileclient"
)

// awaitLimit asks for the limits until a budget has that limit, and says how long that took.
func awaitLimit(t *testing.T, s *servertest.Server, token, budget string, limit int64) (api.LimitStatus, time.Duration) {
	t.Helper()
	for began := time.Now(); ; {
		b := status(t, limits(t, s, token), budget)
		took := time.Since(began)
		if b.Limit != nil && *b.Limit == limit {
			return b, took
		}
		if took > knownWithin+slack {
			t.Fatalf("after %v %s is still %+v", took, budget, b)
		}
		time.Sleep(10 * time.Millisecond) // So that the edge's budget lasts.
	}
}

// A change of plan or an override applies within a second on every process, to a credential that was there before. What was
// spent stays spent.
func TestChangesReachEveryProcess(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	redis := redistest.Start(t)
	one, two := servertest.StartTwo(t, issuer.Env(), servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s"})
	admin := newAdministrator(t, one, issuer, "root")
	token := issuer.Token("alice", "acme")
	alice := me(t, two, token)
	for _, s := range []*servertest.Server{one, two} {
		if b := status(t, limits(t, s, token), "user"); *b.Limit != 100 || b.Source != api.SourceTable || b.Store != api.InRedis {
			t.Fatalf("before any change user is %+v", b)
		}
	}
	steps := []struct {
		method, path, body string
		limit              int64
		source             api.Source
	}{
		{"PUT", "/orgs/" + alice.Organisation.ID + "/plan", `{"plan":"team","reason":"they paid"}`, 300, api.SourcePlan},
		{"PUT", "/overrides/plan/team/user", `{"limit":310,"reason":"summer"}`, 310, api.SourcePlan},
		{"PUT", "/overrides/organisation/" + alice.Organisation.ID + "/user", `{"limit":50,"reason":"too noisy"}`, 50, api.SourceOrganisation},
		{"PUT", "/overrides/user/" + alice.ID + "/user", `{"limit":700,"reason":"she migrates"}`, 700, api.SourceUser},
		{"DELETE", "/overrides/user/" + alice.ID + "/user?reason=migrated", "", 50, api.SourceOrganisation},
		{"DELETE", "/overrides/organisation/" + alice.Organisation.ID + "/user", "", 310, api.SourcePlan},
		{"DELETE", "/overrides/plan/team/user", "", 300, api.SourcePlan},
	}
	for _, step := range steps {
		admin.must(step.method, step.path, step.body)
		if b := status(t, limits(t, one, token), "user"); *b.Limit != step.limit || b.Source != step.source {
			t.Errorf("%s: where it was made user is %+v", step.path, b)
		}
		b, took := awaitLimit(t, two, token, "user", step.limit)
		t.Logf("%s %s: elsewhere after %v", step.method, step.path, took)
		if b.Source != step.source || *b.Remaining != step.limit-1 {
			t.Errorf("%s: elsewhere user is %+v, want one spent", step.path, b)
		}
		e := admin.audit()
		if e.Reason == "" && !strings.HasPrefix(e.Action, "admin.overrides.delete") || e.Actor.Name != "root" || (e.After == nil) != (step.method == "DELETE") {
			t.Errorf("%s: the audit says %+v", step.path, e)
		}
	}
}

// example:begin

// An override in shadow refuses nobody; who would have been refused is counted, in metrics and for administrators.
func TestShadowFirst(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	admin := newAdministrator(t, s, issuer, "root")
	token, other := issuer.Token("alice", "acme"), issuer.Token("carol", "globex")
	alice := me(t, s, token)
	admin.must("PUT", "/overrides/organisation/"+alice.Organisation.ID+"/tasks.export", `{"limit":2,"enforce":false,"reason":"try 2"}`)
	export := func(token string) servertest.Response {
		return s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: token})
	}
	for range 6 {
		resp := export(token)
		want(t, resp, http.StatusOK)
		if strings.Contains(resp.Header.Get("RateLimit-Policy"), "tasks.export") {
			t.Fatal("the shadow shows in the headers")
		}
	}
	for range 5 {
		want(t, export(other), http.StatusOK)
	}
	wantRateLimited(t, export(other), "tasks.export", "5 requests per 60s")
	e := explained(t, admin, "/limits/user/"+alice.ID, "tasks.export")
	if *e.Limit != 2 || e.Enforced || e.WouldDeny != 4 || e.Denied != 0 || *e.Used != 2 || e.Source != api.SourceOrganisation {
		t.Errorf("explained as %+v", e)
	}
	if n := s.Metric("ratelimit_decisions_total", `budget="tasks.export"`, `outcome="would_deny"`); n != 4 {
		t.Errorf("%v would-be refusals are counted", n)
	}
	list := servertest.JSON[api.ThrottledList](t, admin.must("GET", "/throttled", ""))
	if len(list.Shadows) != 1 || len(list.Items) != 1 {
		t.Fatalf("throttled are %+v", list)
	}
	if k := list.Shadows[0]; k.Budget != "tasks.export" || k.Per != api.PerUser || k.ID != alice.ID || k.Name != "alice" || k.WouldDeny != 4 || k.Overcounted != 0 || time.Since(k.LastAt.Time) > time.Hour {
		t.Errorf("whom the shadow would have refused is told as %+v", k)
	}
	if k := list.Items[0]; k.Name != "carol" || k.Denied != 1 {
		t.Errorf("who was refused is told as %+v", k)
	}
}

// example:end

func explained(t *testing.T, admin administrator, path, budget string) api.ExplainedBudget {
	t.Helper()
	body := servertest.JSON[api.Explanation](t, admin.must("GET", path, ""))
	i := slices.IndexFunc(body.Budgets, func(b api.ExplainedBudget) bool { return b.Name == budget })
	if i < 0 {
		t.Fatalf("%s is not among %+v", budget, body.Budgets)
	}
	return body.Budgets[i]
}

// Explaining says what applies to a user, an organisation and an address, why, and what is spent, and spends nothing itself.
func TestExplain(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	admin := newAdministrator(t, s, issuer, "root")
	token := issuer.Token("alice", "acme")
	alice := me(t, s, token)
	for range 2 {
		me(t, s, token)
	}
	for range 2 {
		e := explained(t, admin, "/limits/user/"+alice.ID, "user")
		if *e.Limit != 100 || *e.Used != 3 || *e.Remaining != 97 || e.NextMS < 1 || e.Source != api.SourceTable || e.Store != api.InMemory ||
			e.Mode != api.FailOpen || !e.Enforced || e.Degraded || e.Bound != "never over 100 in any 1m; a unit leaves at exactly 1m" {
			t.Fatalf("user is explained as %+v", e)
		}
	}
	if e := explained(t, admin, "/limits/user/"+alice.ID, "edge.caller"); *e.Used != 2 && *e.Used != 3 {
		t.Errorf("edge.caller is explained as %+v", e)
	}
	if e := explained(t, admin, "/limits/organisation/"+alice.Organisation.ID, "org"); e.RefillPerSecond != 10 || *e.Limit != 600 || e.Per != api.PerOrganisation {
		t.Errorf("org is explained as %+v", e)
	}
	for range 3 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/nothing", From: "2001:db8:7:7::1"}), http.StatusNotFound)
	}
	body := servertest.JSON[api.Explanation](t, admin.must("GET", "/limits/address/2001:db8:7:7:1:2:3:4", ""))
	if len(body.Budgets) != 2 || body.Budgets[0].Name != "edge" || *body.Budgets[0].Used != 3 || body.Organisation != nil || body.ID != "2001:db8:7:7::/64" {
		t.Errorf("the address is explained as %+v", body)
	}
	if e := body.Budgets[1]; e.Name != "auth.login" || e.Store != api.InPostgres || e.Mode != api.FailClosed || *e.Used != 0 {
		t.Errorf("signing in is explained as %+v", e)
	}
	for _, scope := range []string{"user", "organisation"} {
		wantProblem(t, admin.do("GET", "/limits/"+scope+"/01890000-0000-7000-8000-000000000000", ""), http.StatusNotFound, api.CodeNotFound)
	}
}

// example:begin

// The most refused are told of: people and organisations by name, addresses by their network alone.
func TestThrottled(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	admin := newAdministrator(t, s, issuer, "root")
	token := issuer.Token("alice", "acme")
	alice := me(t, s, token)
	for i := range 110 {
		s.Do(servertest.Request{Path: "/api/v1/nothing", From: fmt.Sprintf("2001:db8:9:9::%x", i+1)})
	}
	for range 8 {
		s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: token})
	}
	list := servertest.JSON[api.ThrottledList](t, admin.must("GET", "/throttled", ""))
	if len(list.Items) != 2 || time.Since(list.Since.Time) > time.Hour {
		t.Fatalf("throttled are %+v", list)
	}
	if k := list.Items[0]; k.Budget != "edge" || k.ID != "2001:db8:9:9::" || k.Per != api.PerAddress || k.Denied != 10 || k.Overcounted != 0 || k.Name != "" {
		t.Errorf("the address is told as %+v", k)
	}
	if k := list.Items[1]; k.Budget != "tasks.export" || k.ID != alice.ID || k.Name != "alice" || k.Denied != 3 {
		t.Errorf("alice is told as %+v", k)
	}
	if e := explained(t, admin, "/limits/address/"+list.Items[0].ID, "edge"); e.Denied != 10 || *e.Remaining != 0 {
		t.Errorf("the address that is told of is explained as %+v", e)
	}
	if top := servertest.JSON[api.ThrottledList](t, admin.must("GET", "/throttled?limit=1", "")); len(top.Items) != 1 {
		t.Errorf("the first is %+v", top)
	}
}

// Whatever id is told of, by an explanation or among the throttled, is explained and reset under that id: of people,
// organisations, sessions, everybody, and addresses of both kinds.
func TestToldIDsAreExplained(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "budgets.json")
	const small = `{"edge": {"limit": 20}, "org": {"limit": 60, "refill": 1}, "tasks.export": {"limit": 1}, "auth.refresh": {"limit": 1}, "admin.heapdump": {"limit": 1}}`
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, servertest.Env{"BUDGETS_FILE": file})
	admin := administrator{t: t, s: s, token: s.Token("root"), from: "203.0.113.70"}
	alice := newBrowser(t, s, "203.0.113.71")
	alice.signIn("alice", "/")
	dave := s.Token("dave")
	for range 25 {
		alice.send("GET", "/api/v1/tasks/export", nil)
		s.Do(servertest.Request{Path: "/api/v1/nothing", From: "198.51.100.9"})
		s.Do(servertest.Request{Path: "/api/v1/nothing", From: "2001:db8:5:5::7"})
	}
	for range 90 { // The capacity, and more than it gains meanwhile.
		s.Do(servertest.Request{Path: "/api/v1/me", Token: dave, From: "203.0.113.72"}) // On the free plan.
	}
	untilRefused(t, func() servertest.Response { return alice.send("POST", "/api/v1/auth/refresh", nil) })
	untilRefused(t, func() servertest.Response {
		return s.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/refresh", Token: dave, From: "203.0.113.72"})
	})
	untilRefused(t, func() servertest.Response { return admin.do("POST", "/heapdump", "") })
	wanted := []string{"address edge", "address edge", "global admin.heapdump", "organisation org", "session auth.refresh Alice Archer", "session auth.refresh Dave Dyer", "user tasks.export Alice Archer"}
	var told []string
	for _, k := range servertest.JSON[api.ThrottledList](t, admin.must("GET", "/throttled", "")).Items {
		if k.Per != api.PerOrganisation && k.Name != "" {
			told = append(told, strings.Join([]string{string(k.Per), k.Budget, k.Name}, " "))
		} else {
			told = append(told, string(k.Per)+" "+k.Budget)
		}
		checkExplained(t, admin, k)
	}
	if slices.Sort(told); !slices.Equal(told, wanted) {
		t.Errorf("throttled are %q, want %q", told, wanted)
	}
	for _, id := range []string{"2001:db8:5:5::/48", "198.51.100.0/24", "nowhere/64"} {
		wantFields(t, admin.do("GET", "/limits/address/"+url.PathEscape(id), ""), "id")
	}
	wantFields(t, admin.do("GET", "/limits/global/everybody", ""), "id")
	wantProblem(t, admin.do("GET", "/limits/session/01890000-0000-7000-8000-000000000000", ""), http.StatusNotFound, api.CodeNotFound)
}

// checkExplained asks for an id that is told of, then for the one that the explanation says, and resets by that.
func checkExplained(t *testing.T, admin administrator, k api.ThrottledKey) {
	t.Helper()
	first := servertest.JSON[api.Explanation](t, admin.must("GET", "/limits/"+string(k.Per)+"/"+url.PathEscape(k.ID), ""))
	path := "/limits/" + string(first.Scope) + "/" + url.PathEscape(first.ID)
	if e := counted(t, admin, path, k.Budget); e.Denied != k.Denied || *e.Used == 0 {
		t.Errorf("%+v is explained under %s as %+v", k, path, e)
	}
	awaitStatus(t, func() servertest.Response { return admin.do("DELETE", path+"/"+k.Budget, "") }, http.StatusNoContent)
	if e := counted(t, admin, path, k.Budget); *e.Used != 0 {
		t.Errorf("after its reset %+v is explained as %+v", k, e)
	}
}

// counted is an explanation in which the store has said what is used.
func counted(t *testing.T, admin administrator, path, budget string) api.ExplainedBudget {
	t.Helper()
	for range 30 {
		if e := explained(t, admin, path, budget); e.Used != nil {
			return e
		}
	}
	t.Fatalf("%s of %s is not counted", budget, path)
	return api.ExplainedBudget{}
}

// example:end

// The audit says what became of a reset: one whose store does not answer has failed, and one that nobody could finish stays
// begun.
func TestResetThatFails(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	redis := redistest.Start(t)
	database := servertest.NewDatabase(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"DATABASE_URL": database, "REDIS_URL": redis.URL + "?read_timeout=2s"})
	admin := newAdministrator(t, s, issuer, "root")
	token := issuer.Token("alice", "acme")
	path := "/limits/user/" + me(t, s, token).ID + "/user"
	outcome := func(want string) {
		t.Helper()
		if e := admin.audit(); e.Action != "admin.limits.reset" || e.After["outcome"] != want || e.Before != nil {
			t.Errorf("the audit says %+v, want that it is %s", e, want)
		}
	}
	used := func() int64 { return 100 - *status(t, limits(t, s, token), "user").Remaining }
	admin.must("DELETE", path, "")
	outcome("done")
	me(t, s, token)
	execute(t, database, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
	execute(t, database, `CREATE TRIGGER refuse BEFORE INSERT ON changes FOR EACH ROW EXECUTE FUNCTION refuse()`)
	if n := used(); n != 1 {
		t.Errorf("%d are used before the reset", n)
	}
	wantProblem(t, admin.do("DELETE", path, ""), http.StatusServiceUnavailable, api.CodeUnavailable)
	outcome("begun")
	if n := used(); n != 0 {
		t.Errorf("%d are used after a reset that the others were not told of", n)
	}
	redis.Kill()
	wantProblem(t, admin.do("DELETE", path, ""), http.StatusServiceUnavailable, api.CodeUnavailable)
	outcome("failed")
	if n := len(s.Logs("administrator acted")); n != 1 {
		t.Errorf("%d acts are logged as done", n)
	}
}

// example:begin

// A reset forgets what was spent on every process, also where each counts in its own memory.
func TestReset(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	one, two := servertest.StartTwo(t, issuer.Env())
	admin := newAdministrator(t, one, issuer, "root")
	token := issuer.Token("alice", "acme")
	alice := me(t, one, token)
	export := func(s *servertest.Server) servertest.Response {
		return s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: token})
	}
	for _, s := range []*servertest.Server{one, two} {
		for range 5 {
			want(t, export(s), http.StatusOK)
		}
		wantRateLimited(t, export(s), "tasks.export", "5 requests per 60s")
	}
	admin.must("DELETE", "/limits/user/"+alice.ID+"/tasks.export?reason=our+fault", "")
	want(t, export(one), http.StatusOK)
	t.Logf("elsewhere after %v", awaitStatus(t, func() servertest.Response { return export(two) }, http.StatusOK))
	if e := admin.audit(); e.Action != "admin.limits.reset" || e.Target != "user/"+alice.ID+"/tasks.export" || e.Reason != "our fault" || e.After["outcome"] != "done" {
		t.Errorf("the audit says %+v", e)
	}
}

// example:end

// Revoking ends what the user has, here and elsewhere.
func TestAdminRevokes(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	one, two := servertest.StartTwo(t, issuer.Env())
	admin := newAdministrator(t, one, issuer, "root")
	token := issuer.Token("alice", "acme")
	alice := me(t, two, token)
	get := func(s *servertest.Server) servertest.Response {
		return s.Do(servertest.Request{Path: "/api/v1/me", Token: token})
	}
	want(t, admin.do("POST", "/users/"+alice.ID+"/revoke", `{"reason":"left us"}`), http.StatusNoContent)
	want(t, get(one), http.StatusUnauthorized)
	awaitStatus(t, func() servertest.Response { return get(two) }, http.StatusUnauthorized)
	if e := admin.audit(); e.Action != "admin.users.revoke" || e.Target != "user/"+alice.ID || e.Reason != "left us" {
		t.Errorf("the audit says %+v", e)
	}
}

// While a process does not hear of revocations, it refuses administrators and nobody else.
func TestAdministratorsWhileRevocationsAreUnknown(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	database := servertest.NewDatabase(t)
	direct := newLine(t, database)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"DATABASE_URL": database, "DATABASE_DIRECT_URL": direct.url})
	admin := newAdministrator(t, s, issuer, "root")
	alice := issuer.Token("alice", "acme")
	admin.must("GET", "/orgs", "")
	direct.cut()
	awaitStatus(t, func() servertest.Response { return admin.do("GET", "/orgs", "") }, http.StatusServiceUnavailable)
	resp := admin.do("GET", "/orgs", "")
	wantProblem(t, resp, http.StatusServiceUnavailable, api.CodeUnavailable)
	if resp.Header.Get("Retry-After") != "5" || resp.Header.Get("RateLimit-Policy") != edgeCaller {
		t.Errorf("it is answered with %v", resp.Header)
	}
	me(t, s, alice)
	wantProblem(t, s.Do(servertest.Request{Path: "/api/v1/admin/orgs", Token: alice}), http.StatusForbidden, api.CodeForbidden)
	direct.mend()
	awaitStatus(t, func() servertest.Response { return admin.do("GET", "/orgs", "") }, http.StatusOK)
}

// A line is a TCP connection to the tests' database that can be cut.
type line struct {
	url string

	mu     sync.Mutex
	broken bool
	open   []net.Conn
}

func newLine(t *testing.T, database string) *line {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l := &line{url: fmt.Sprintf("postgres://%s@%s%s", u.User, listener.Addr(), u.Path)}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			l.join(from, socket)
		}
	}()
	return l
}

func (l *line) join(from net.Conn, socket string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to, err := net.Dial("unix", socket)
	if err != nil || l.broken {
		from.Close()
		return
	}
	l.open = append(l.open, from, to)
	go pipe(from, to)
	go pipe(to, from)
}

func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from) // However it ends, so does the line.
	to.Close()
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
	for _, c := range l.open {
		c.Close()
	}
	l.open = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = false
}

// A noisy organisation that asks for twenty times its budget leaves another's success unchanged, and by the printed numbers
// its latency.
func TestNoisyNeighbour(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	admin := newAdministrator(t, s, issuer, "root")
	const budget, members = 40, 10
	noisy := make([]string, members)
	for i := range noisy {
		noisy[i] = issuer.Token(fmt.Sprint("noisy-", i), "noisy")
	}
	organisation := me(t, s, noisy[0]).Organisation.ID
	admin.must("PUT", "/overrides/organisation/"+organisation+"/org", fmt.Sprintf(`{"limit":%d,"refillPerSecond":1,"reason":"a small one"}`, budget))
	quiet := issuer.Token("quiet", "quiet")
	me(t, s, quiet)
	alone := latencies(t, s, quiet)
	var load sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for _, token := range noisy {
		load.Go(func() {
			for range 20 * budget / members {
				resp := s.Do(servertest.Request{Path: "/api/v1/org", Token: token})
				mu.Lock()
				statuses[resp.StatusCode]++
				mu.Unlock()
				time.Sleep(rand.N(40 * time.Millisecond)) // It is the organisation that is noisy here, not this machine that is short of time.
			}
		})
	}
	beside := latencies(t, s, quiet)
	load.Wait()
	t.Logf("the noisy one asked %d times its budget: %v", 20, statuses)
	t.Logf("the quiet one alone: median %v, most %v; beside it: median %v, most %v", alone[len(alone)/2], alone[len(alone)-1], beside[len(beside)/2], beside[len(beside)-1])
	if statuses[http.StatusTooManyRequests] == 0 || statuses[http.StatusOK] < budget-1 || statuses[http.StatusOK]+statuses[http.StatusTooManyRequests] != 20*budget {
		t.Errorf("the noisy one got %v", statuses)
	}
	if b := status(t, limits(t, s, quiet), "org"); *b.Limit != 600 || *b.Remaining < 600-85 {
		t.Errorf("the quiet one's budget is %+v", b)
	}
}

// latencies asks forty times, insists on success, and returns how long each took, in order.
func latencies(t *testing.T, s *servertest.Server, token string) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range 40 {
		began := time.Now()
		want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: token}), http.StatusOK)
		took = append(took, time.Since(began))
		time.Sleep(rand.N(2 * time.Millisecond)) // As people are: not in step with the load.
	}
	slices.Sort(took)
	return took
}

// The SDK sees what a plan raises, if it is let; without that it keeps to the table, which is never too much.
func TestClientSeesRaisedLimits(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	calls := func(opts ...mobileclient.Option) int {
		client, err := mobileclient.New(s.URL, append(opts, mobileclient.WithTokenSource(mobileclient.StaticToken(s.Token("alice"))))...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.FetchLimits(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			var err error
			if n%2 == 0 { // A client lets each endpoint be called 100 times a minute.
				_, err = client.Organisation(t.Context())
			} else {
				_, err = client.Me(t.Context())
			}
			if err != nil {
				if e, ok := errors.AsType[*mobileclient.Error](err); !ok || !e.Local {
					t.Errorf("the server refused: %v", err)
				}
				return n
			}
		}
	}
	if n := calls(); n != 100 {
		t.Errorf("a client by the table made %d calls, want 100", n)
	}
	if n := calls(mobileclient.WithServerLimits()); n != 200 {
		t.Errorf("a client by the server's limits made %d more, want the 200 that are left of team's 300", n)
	}
}

// example:begin

// BUDGETS_FILE changes numbers without a build, again at each SIGHUP; a bad file keeps the old ones and says why.
func TestBudgetsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "budgets.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"tasks.export": {"limit": 3}, "org": {"limit": 700, "refill": 20}}`)
	s := servertest.Start(t, servertest.Env{"BUDGETS_FILE": path})
	carol := s.Token("carol")
	export := func() servertest.Response {
		return s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: carol})
	}
	for range 3 {
		want(t, export(), http.StatusOK)
	}
	wantRateLimited(t, export(), "tasks.export", "3 requests per 60s")
	budgets := limits(t, s, carol)
	if b := status(t, budgets, "org"); *b.Limit != 700 || b.RefillPerSecond != 20 || b.Source != api.SourceFile {
		t.Errorf("org is %+v", b)
	}
	if b := status(t, budgets, "user"); *b.Limit != 100 || b.Source != api.SourceTable {
		t.Errorf("user is %+v", b)
	}
	write(`{"tasks.export": {"limit": 4}, "edge.caller": {"limit": 200}}`)
	hangUp(t)
	if plans := fmt.Sprint(s.AwaitLog("numbers of plans or overrides do not hold as they stand")["numbers"]); !strings.Contains(plans, "plan team: user 300 must be at most 200, the limit of edge.caller") {
		t.Errorf("the plans above the edge are said as %s", plans)
	}
	s.AwaitLog("the budgets' file was read")
	want(t, export(), http.StatusOK) // What was spent stays spent: three of four.
	wantRateLimited(t, export(), "tasks.export", "4 requests per 60s")
	write(`{"tasks.export": {"limit": 6, "onFailure": "closed"}}`)
	hangUp(t)
	if fault := fmt.Sprint(s.AwaitLog("the budgets' file cannot be used; the old numbers stay")["error"]); !strings.Contains(fault, "BUDGETS_FILE="+path) ||
		!strings.Contains(fault, "user and tasks.export are decided together") {
		t.Errorf("what is counted apart without Redis is said as %s", fault)
	}
	if b := status(t, limits(t, s, carol), "tasks.export"); *b.Limit != 4 || b.Source != api.SourceFile {
		t.Errorf("after a bad file it is %+v", b)
	}
}

// example:end

// A plan's own number that cannot be kept does not apply, and is not passed over in silence: the log says so, and so does the
// list of plans.
func TestPlanThatCannotBeKept(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	database := servertest.NewDatabase(t)
	env := servertest.Env{"DATABASE_URL": database}
	old := servertest.Start(t, issuer.Env(), env)
	execute(t, database, "INSERT INTO plan_budgets (plan, budget, allowance) VALUES ('free', 'admin', 2000)")
	s := servertest.Start(t, issuer.Env(), env)
	const why = "limit 2000 is above 1024"
	if plans := fmt.Sprint(s.AwaitLog("numbers of plans or overrides do not hold as they stand")["numbers"]); !strings.Contains(plans, "plan free: admin 2000 is ignored: "+why) {
		t.Errorf("at start the log says %s", plans)
	}
	for _, s := range []*servertest.Server{old, s} {
		for range 2 {
			if b := status(t, limits(t, s, issuer.Token("alice", "acme", "admin")), "admin"); *b.Limit != 100 || b.Source != api.SourceTable {
				t.Errorf("admin is %+v", b)
			}
		}
		line := s.AwaitLog("a number that cannot be kept is passed over")
		if line["scope"] != "plan" || line["id"] != "free" || line["budget"] != "admin" || !strings.Contains(fmt.Sprint(line["error"]), why) {
			t.Errorf("the log says %v", line)
		}
		if n := len(s.Logs("a number that cannot be kept is passed over")); n != 1 {
			t.Errorf("the log says it %d times", n)
		}
	}
	admin := newAdministrator(t, s, issuer, "root")
	for _, p := range servertest.JSON[api.PlanList](t, admin.must("GET", "/plans", "")).Items {
		for _, b := range p.Budgets {
			if wrong := p.Name == "free"; wrong != strings.Contains(b.Fault, why) || !wrong && b.Fault != "" {
				t.Errorf("the plan %s is shown with %+v", p.Name, b)
			}
		}
	}
}

// example:begin

// hangUp sends SIGHUP to this process, in which the servers of other tests may run too: theirs have no file.
func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// The subcommand routes prints the numbers and places that are in force with the file and the settings, and a file that the
// server would refuse ends it.
func TestRoutesPrintsTheFilesBudgets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "budgets.json")
	routes := func(text, redis string) (string, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		env := func(name string) string {
			return map[string]string{"BUDGETS_FILE": path, "REDIS_URL": redis, "LLM_BASE_URL": "https://model.test/v1", "LLM_MODEL": "m"}[name]
		}
		err := app.Run(t.Context(), []string{"routes"}, env, &out)
		return out.String(), err
	}
	const file = `{"tasks.write": {"limit": 77}, "tasks.export": {"enforce": false}, "reports.create": {"unlimited": true}, "user": {}}`
	out, err := routes(file, "redis://redis.test")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"77 requests per 60s", "redis, open, file", "5 requests per 60s, in shadow", "unlimited", "admin.orgs.plan", "redis, open, table"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out, err := routes(file, ""); err != nil || !strings.Contains(out, "memory, open, file") || strings.Contains(out, "redis, ") {
		t.Errorf("without Redis: %v\n%s", err, out)
	}
	if _, err := routes(`{"user": {"onFailure": "closed"}}`, ""); err == nil || !strings.Contains(err.Error(), "user and org are decided together") {
		t.Errorf("a file that needs Redis: %v", err)
	}
	if _, err := routes(`{"ai.tokens": {"limit": 5000}, "user": {"onFailure": "closed"}}`, ""); err == nil || !strings.Contains(err.Error(), "user and org are decided together") ||
		!strings.Contains(err.Error(), "above the limit 5000 of the budget ai.tokens: raise that limit") {
		t.Errorf("a file that has fewer tokens than a call may use, and needs Redis: %v", err)
	}
	if _, err := routes(`{"tasks.write": {"limits": 77}}`, ""); err == nil || !strings.Contains(err.Error(), "limits is no field") {
		t.Errorf("a bad file: %v", err)
	}
}

// example:end

// What is wrong with the settings and with the file that they name is said together, by the server and by what prints its
// budgets.
func TestBudgetsAreCheckedWithTheSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(path, []byte(`{"nothing": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"BUDGETS_FILE": path, "LOG_LEVEL": "loud", "SESSION_IDLE": "400h", "OTEL_TRACES_EXPORTER": "zipkin"}[name]
	}
	for _, command := range []string{"serve", "routes"} {
		err := app.Run(t.Context(), []string{command}, env, io.Discard)
		if err == nil {
			t.Fatalf("%s: accepted", command)
		}
		for _, want := range []string{"LOG_LEVEL=", "SESSION_IDLE is longer", "nothing: there is no such budget", "OTEL_TRACES_EXPORTER=zipkin"} {
			if strings.Count(err.Error(), want) != 1 {
				t.Errorf("%s does not say %q once: %v", command, want, err)
			}
		}
	}
}

// The limiter's health is told, outages included.
func TestLimiterStatus(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	redis := redistest.Start(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s"})
	admin := newAdministrator(t, s, issuer, "root")
	before := servertest.JSON[api.LimiterStatus](t, admin.must("GET", "/limiter", ""))
	if len(before.Budgets) != len(api.Budgets()) || before.TableHash == "" || before.Memory.Keys == 0 || len(before.Stores) != 3 {
		t.Errorf("the limiter is told as %+v", before)
	}
	for _, b := range before.Budgets {
		if b.Outage != nil || !b.Enforced || b.Source != api.SourceTable {
			t.Errorf("with all stores up: %+v", b)
		}
	}
	redis.Kill()
	alice := issuer.Token("alice", "acme")
	for range 4 {
		me(t, s, alice)
	}
	after := servertest.JSON[api.LimiterStatus](t, admin.must("GET", "/limiter", ""))
	for _, b := range after.Budgets {
		out := b.Name == "user" || b.Name == "org" || b.Name == "admin"
		if (b.Outage != nil) != out || out && (b.Outage.Decisions == 0 || b.Outage.Error == "") {
			t.Errorf("with Redis down: %+v", b)
		}
	}
	for _, store := range after.Stores {
		if store.BreakerOpen != (store.Store == api.InRedis) {
			t.Errorf("with Redis down: %+v", store)
		}
	}
}
