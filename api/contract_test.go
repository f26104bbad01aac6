package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/api"
)

// The table of budgets, written out: a number changed by mistake fails here.
func TestBudgets(t *testing.T) {
	t.Parallel()
	want := []string{
		"edge 100/1m0s +0 address sliding-window memory local",
		"edge.caller 1000/1m0s +0 user sliding-window memory local",
		"user 100/1m0s +0 user sliding-window redis open",
		"org 600/1m0s +10 organisation token-bucket redis open",
		"admin 100/1m0s +0 user sliding-window redis open",
		// example:begin
		"tasks.write 30/1m0s +0 user sliding-window redis open",
		"tasks.parse 10/1m0s +0 user sliding-window redis open",
		"tasks.parse.burst 3/1s +0 user sliding-window redis open",
		"ai.tokens 20000/24h0m0s +0 user sliding-window-segments redis local",
		"tasks.export 5/1m0s +0 user sliding-window redis open",
		"reports.create 10/1m0s +0 user sliding-window redis open",
		// example:end
		"auth.login 10/1m0s +0 address sliding-window postgres closed",
		"auth.refresh 30/1m0s +0 session sliding-window postgres closed",
		"admin.threaddump 20/1m0s +0 user sliding-window redis local",
		"admin.heapdump 3/5m0s +0 global fixed-window postgres closed",
	}
	var got []string
	for _, b := range api.Budgets() {
		got = append(got, strings.Join([]string{
			b.Name, itoa(b.Limit) + "/" + b.Window.String(), "+" + itoa(b.Refill), string(b.Per), string(b.Algorithm), string(b.Place), string(b.OnFailure),
		}, " "))
		if b.Why == "" || b.Unit == "" {
			t.Errorf("%s does not say what it is for", b.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func itoa(n int64) string { data, _ := json.Marshal(n); return string(data) }

// The table of routes, written out: a budget or a class lost by mistake fails here.
func TestRoutes(t *testing.T) {
	t.Parallel()
	ofMeDelete := []string{"user", "org"}
	ofMeDelete = append(ofMeDelete, "tasks.write") // example:line
	want := []string{
		"limits.get GET /api/v1/limits optional []",
		"openapi.get GET /api/v1/openapi.json public []",
		"me.get GET /api/v1/me user [user org]",
		"me.delete DELETE /api/v1/me user " + fmt.Sprint(ofMeDelete),
		"org.get GET /api/v1/org user [user org]",
		// example:begin
		"tasks.list GET /api/v1/tasks user [user org]",
		"tasks.create POST /api/v1/tasks user [user org tasks.write]",
		"tasks.parse POST /api/v1/tasks/parse user [user org tasks.parse tasks.parse.burst ai.tokens]",
		"tasks.export GET /api/v1/tasks/export user [user org tasks.export]",
		"tasks.get GET /api/v1/tasks/{id} user [user org]",
		"tasks.update PATCH /api/v1/tasks/{id} user [user org tasks.write]",
		"tasks.delete DELETE /api/v1/tasks/{id} user [user org tasks.write]",
		"reports.create POST /api/v1/reports user [user org reports.create]",
		// example:end
		"auth.login GET /api/v1/auth/login public [auth.login]",
		"auth.callback GET /api/v1/auth/callback public []",
		"auth.refresh POST /api/v1/auth/refresh auth [auth.refresh]",
		"auth.logout POST /api/v1/auth/logout public []",
		"auth.backchannel POST /api/v1/auth/backchannel public []",
		"admin.reports.list GET /api/v1/admin/reports admin [admin]", // example:line
		"admin.orgs.list GET /api/v1/admin/orgs admin [admin]",
		"admin.orgs.plan PUT /api/v1/admin/orgs/{id}/plan admin [admin]",
		"admin.plans.list GET /api/v1/admin/plans admin [admin]",
		"admin.audit.list GET /api/v1/admin/audit admin [admin]",
		"admin.throttled GET /api/v1/admin/throttled admin [admin]",
		"admin.limiter GET /api/v1/admin/limiter admin [admin]",
		"admin.overrides.list GET /api/v1/admin/overrides admin [admin]",
		"admin.overrides.put PUT /api/v1/admin/overrides/{scope}/{id}/{budget} admin [admin]",
		"admin.overrides.delete DELETE /api/v1/admin/overrides/{scope}/{id}/{budget} admin [admin]",
		"admin.limits.explain GET /api/v1/admin/limits/{scope}/{id} admin [admin]",
		"admin.limits.reset DELETE /api/v1/admin/limits/{scope}/{id}/{budget} admin [admin]",
		"admin.users.revoke POST /api/v1/admin/users/{id}/revoke admin [admin]",
		"admin.threaddump GET /api/v1/admin/threaddump admin [admin.threaddump]",
		"admin.heapdump POST /api/v1/admin/heapdump admin [admin.heapdump]",
	}
	var got []string
	for _, r := range api.Routes() {
		got = append(got, strings.Join([]string{r.ID, r.Method, r.Path, r.Class.String(), "[" + strings.Join(r.Charges(), " ") + "]"}, " "))
		if r.Summary == "" || r.Status == 0 {
			t.Errorf("%s does not say what it answers", r.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Sending a request again must do no harm: what is no POST does none by itself.
func TestPostsOfUsersTakeAKey(t *testing.T) {
	t.Parallel()
	for _, r := range api.Routes() {
		if want := r.Method == http.MethodPost && r.Class == api.ClassUser; r.TakesKey != want {
			t.Errorf("%s takes an idempotency key: %v, want %v", r.ID, r.TakesKey, want)
		}
	}
}

func TestIsIdempotencyKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "x": true, "a b": true, " a": false, "a ": false, strings.Repeat("x", 255): true, strings.Repeat("x", 256): false,
		"a\x00": false, "a\n": false, "é": false, "\x7f": false, `"quoted"`: true, "!~": true,
	} {
		if api.IsIdempotencyKey(text) != want {
			t.Errorf("%q is a key: %v", text, !want)
		}
	}
}

func TestZeroClassProtects(t *testing.T) {
	t.Parallel()
	if route := (api.Route{}); !route.Class.NeedsCredential() {
		t.Error("a route whose row says nothing is open")
	}
}

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	want := map[api.Code]int{
		"RATE_LIMIT_EXCEEDED": 429, "AUTH_FAILED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "METHOD_NOT_ALLOWED": 405, "REQUEST_TIMEOUT": 408,
		"CONFLICT": 409, "IDEMPOTENCY_KEY_REUSED": 422, "PAYLOAD_TOO_LARGE": 413, "UNSUPPORTED_MEDIA_TYPE": 415, "VALIDATION_FAILED": 422, "INVALID_JSON": 400, "BAD_REQUEST": 400,
		"LIMITER_UNAVAILABLE": 503, "UNAVAILABLE": 503, "UPSTREAM_FAILED": 502, "INTERNAL": 500,
	}
	for _, kind := range api.ErrorKinds() {
		if want[kind.Code] != kind.Status {
			t.Errorf("%s has status %d, want %d", kind.Code, kind.Status, want[kind.Code])
		}
		delete(want, kind.Code)
	}
	if len(want) > 0 {
		t.Errorf("codes without a row: %v", want)
	}
	if got := api.Kind("SOMETHING_ELSE").Code; got != api.CodeInternal {
		t.Errorf("an unknown code is %s", got)
	}
}

func TestRateLimitProblem(t *testing.T) {
	t.Parallel()
	budget, _ := api.BudgetNamed("auth.refresh")
	p := api.NewRateLimitProblem(budget.String(), 16321*time.Millisecond, "auth.refresh")
	p.Instance, p.RequestID = "/api/v1/auth/refresh", "r1"
	got, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,` +
		`"detail":"Rate limit exceeded: 30 requests per 60s. Try again in 17 seconds.","instance":"/api/v1/auth/refresh","requestId":"r1",` +
		`"error":"Too Many Requests","code":"RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded: 30 requests per 60s",` +
		`"violated-policies":["auth.refresh"],"retryAfter":16321,"retryAfterSeconds":17}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p := api.NewRateLimitProblem("1 requests per 1s", time.Nanosecond); p.RetryAfter != 1 || p.RetryAfterSeconds != 1 || !strings.HasSuffix(p.Detail, "in 1 second.") {
		t.Errorf("the shortest wait is said as %+v", p)
	}
	if p := api.NewRateLimitProblem("1 requests per 1s", 1500*time.Microsecond); p.RetryAfter != 2 {
		t.Errorf("1.5 ms are said as %d: a caller who obeys would be early", p.RetryAfter)
	}
	if p := api.NewRateLimitProblem("1 requests per 1s", -1); p.RetryAfter != 0 || p.RetryAfterSeconds != 0 {
		t.Errorf("a wait that does not help is said as %+v", p)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 18, 0, 0, 999_999_999, time.FixedZone("", 3600))
	data, err := json.Marshal(api.NewTime(at))
	if err != nil || string(data) != `"2026-01-31T17:00:00.999Z"` {
		t.Errorf("written as %s, %v", data, err)
	}
	var read api.Time
	if err := json.Unmarshal([]byte(`"2026-01-31T18:00:00.5+01:00"`), &read); err != nil || read.Format(api.TimeLayout) != "2026-01-31T17:00:00.500Z" {
		t.Errorf("read as %v, %v", read, err)
	}
	for _, bad := range []string{`"tomorrow"`, `5`, `""`, `"2026-02-30T00:00:00Z"`, `"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-01:00"`} {
		if err := json.Unmarshal([]byte(bad), &read); err == nil {
			t.Errorf("%s was read as %v", bad, read)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	route, ok := api.RouteByID(api.RouteAdminUsersRevoke)
	if !ok || route.Method != http.MethodPost || route.URL("7") != "/api/v1/admin/users/7/revoke" {
		t.Errorf("%+v gives %s", route, route.URL("7"))
	}
}
