package bind_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient/bind"
)

// example:begin

const taskID = "0198c0de-0000-7000-8000-000000000001"

// example:end

type source func() (*bind.Token, error)

func (s source) Token() (*bind.Token, error) { return s() }

func fixed() (*bind.Token, error) { return bind.NewToken("secret"), nil }

// serve answers each path with a value, and notes the bodies that came.
func serve(t *testing.T, answers map[string]any) (client *bind.Client, bodies map[string]string) {
	t.Helper()
	bodies = map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		key := r.Method + " " + r.RequestURI
		bodies[key] = string(body)
		answer, ok := answers[key]
		p, failed := answer.(api.Problem)
		switch {
		case !ok:
			t.Errorf("came %s", key)
		case failed:
			w.Header().Set("Content-Type", api.ContentTypeProblem)
			w.WriteHeader(p.Status)
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	options := bind.NewOptions(server.URL)
	options.SetTokenSource(source(fixed))
	client, err := bind.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	return client, bodies
}

// example:begin

func TestTasks(t *testing.T) {
	t.Parallel()
	due := api.Time{}
	if err := json.Unmarshal([]byte(`"2026-11-29T20:00:00Z"`), &due); err != nil {
		t.Fatal(err)
	}
	task := api.Task{ID: taskID, Title: "Buy milk", DueAt: &due, Priority: api.PriorityHigh, Tags: []string{"home"}, CreatedAt: due, UpdatedAt: due}
	client, bodies := serve(t, map[string]any{
		"GET /api/v1/tasks?done=true&limit=2": api.TaskList{Items: []api.Task{task}, NextCursor: "n"},
		"POST /api/v1/tasks":                  task,
		"PATCH /api/v1/tasks/" + taskID:       task,
		"GET /api/v1/tasks/" + taskID:         task,
		"DELETE /api/v1/tasks/" + taskID:      nil,
	})
	query := bind.NewTaskQuery()
	query.OnlyDone, query.Limit = true, 2
	page, err := client.Tasks(nil, query)
	if err != nil {
		t.Fatal(err)
	}
	const millis = 1795982400000
	got := page.At(0)
	if page.Len() != 1 || page.NextCursor != "n" || got.Title != "Buy milk" || got.DueAtMillis != millis || got.TagAt(0) != "home" || got.TagCount() != 1 {
		t.Errorf("got %+v of %d", got, page.Len())
	}
	if page.At(1) != nil || page.At(-1) != nil || got.TagAt(1) != "" {
		t.Error("an item beyond the end")
	}
	draft := bind.NewTaskDraft("Buy milk")
	draft.DueAtMillis = millis
	draft.AddTag("home")
	if _, err := client.CreateTask(nil, draft); err != nil {
		t.Error(err)
	}
	change := bind.NewTaskChange()
	change.SetDone(true)
	change.SetDueAtMillis(0)
	change.AddTag("a")
	change.AddTag("b")
	if _, err := client.UpdateTask(nil, taskID, change); err != nil {
		t.Error(err)
	}
	if _, err := client.Task(bind.NewCall(), taskID); err != nil {
		t.Error(err)
	}
	if err := client.DeleteTask(nil, taskID); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		"POST /api/v1/tasks":            `{"title":"Buy milk","dueAt":"2026-11-29T20:00:00.000Z","tags":["home"]}`,
		"PATCH /api/v1/tasks/" + taskID: `{"dueAt":null,"tags":["a","b"],"done":true}`,
	}
	for key, body := range want {
		if bodies[key] != body {
			t.Errorf("%s sent %s, want %s", key, bodies[key], body)
		}
	}
}

// example:end

func TestTheRest(t *testing.T) {
	t.Parallel()
	limit, left := int64(100), int64(99)
	client, _ := serve(t, map[string]any{
		"GET /api/v1/me":           api.Me{ID: "u", Name: "Alice", Roles: []string{"admin"}, Organisation: api.MyOrganisation{ID: "o", Name: "Acme", Plan: "team"}},
		"DELETE /api/v1/me":        nil,
		"GET /api/v1/org":          api.Organisation{ID: "o", MemberCount: 3},
		"POST /api/v1/reports":     api.Report{ID: "r", TaskID: taskID}, // example:line
		"GET /api/v1/limits":       api.Limits{Budgets: []api.LimitStatus{{Name: "user", Limit: &limit, Remaining: &left, WindowSeconds: 60}, {Name: "free"}}},
		"POST /api/v1/tasks/parse": api.ParseResult{Parser: "local", Drafts: []api.Draft{{Title: "milk", Tags: []string{"home"}, Spans: []api.Span{{Start: 1, End: 2, Kind: "due"}}}}}, // example:line
	})
	me, err := client.Me(nil)
	if err != nil || me.Name != "Alice" || !me.HasRole("admin") || me.HasRole("x") || me.OrganisationPlan != "team" {
		t.Errorf("me: %+v, %v", me, err)
	}
	org, err := client.Organisation(nil)
	if err != nil || org.MemberCount != 3 {
		t.Errorf("organisation: %+v, %v", org, err)
	}
	// example:begin
	if report, err := client.CreateReport(nil, taskID, "spam"); err != nil || report.ID != "r" {
		t.Errorf("report: %+v, %v", report, err)
	}
	// example:end
	limits, err := client.FetchLimits(nil)
	if err != nil || limits.Len() != 2 || limits.At(0).Remaining != 99 || limits.At(1).Limit != -1 || limits.At(2) != nil {
		t.Errorf("limits: %+v, %v", limits, err)
	}
	// example:begin
	result, err := client.Parse(nil, "milk", "")
	if err != nil || result.Len() != 1 || result.At(0).SpanAt(0).Kind != "due" || result.At(0).SpanCount() != 1 || result.At(0).TagAt(0) != "home" || result.At(0).Task().Title != "milk" {
		t.Errorf("parse: %+v, %v", result, err)
	}
	if standing, err := client.Limits("tasks.parse"); err != nil || !standing.Allowed || standing.Remaining != 2 {
		t.Errorf("standing after it: %+v, %v", standing, err)
	}
	// example:end
	standing, err := client.Limits("limits.get")
	if err != nil || !standing.Allowed || standing.Remaining < 1 {
		t.Errorf("standing: %+v, %v", standing, err)
	}
	if err := client.DeleteMe(nil); err != nil {
		t.Error(err)
	}
}

// example:begin

func TestErrorDetails(t *testing.T) {
	t.Parallel()
	problem := api.NewProblem(api.CodeValidationFailed, "")
	problem.Fields = []api.FieldError{{Field: "title", Message: "must not be blank"}}
	client, _ := serve(t, map[string]any{"POST /api/v1/tasks": problem, "POST /api/v1/tasks/parse": api.ParseResult{}})
	_, err := client.CreateTask(nil, bind.NewTaskDraft(""))
	d := bind.ErrorDetails(err)
	if d == nil || d.Status != 422 || d.Code != "VALIDATION_FAILED" || d.Local || d.RateLimited || d.FieldCount() != 1 || d.FieldAt(0).Name != "title" || d.FieldAt(1) != nil {
		t.Errorf("remote: %+v", d)
	}
	for err = nil; err == nil; { // Three in a second, or ten in a minute, are let pass.
		_, err = client.Parse(nil, "x", "")
	}
	d = bind.ErrorDetails(err)
	if d == nil || !d.Local || !d.RateLimited || d.RetryAfterSeconds < 1 || d.RetryAfterMillis < 1 || d.BudgetCount() < 1 || !strings.HasPrefix(d.BudgetAt(0), "tasks.parse") {
		t.Errorf("local: %+v", d)
	}
	skip := bind.NewCall()
	skip.SkipRateLimit = true
	if _, err := client.Parse(skip, "x", ""); err != nil {
		t.Errorf("skipping: %v", err)
	}
	if bind.ErrorDetails(errors.New("network")) != nil || bind.ErrorDetails(nil) != nil {
		t.Error("details of what is no answer")
	}
}

// example:end

// TestNoEntryPanics gives each entry nothing.
func TestNoEntryPanics(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, nil) // example:line
	if _, err := bind.NewClient(nil); err == nil {
		t.Error("no options are taken")
	}
	// example:begin
	if _, err := client.CreateTask(nil, nil); err == nil || !strings.Contains(err.Error(), "internal fault") {
		t.Errorf("got %v", err)
	}
	if _, err := client.UpdateTask(nil, taskID, nil); err == nil {
		t.Error("no change is taken")
	}
	// example:end
	if _, err := (&bind.Client{}).Me(nil); err == nil {
		t.Error("a client that was not made works")
	}
}

func TestACancelledCallEnds(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, nil)
	call := bind.NewCall()
	call.Cancel()
	if _, err := client.Me(call); err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("got %v", err)
	}
	var none *bind.Call
	none.Cancel()
}

func TestSources(t *testing.T) {
	t.Parallel()
	sources := map[string]source{
		"locked":   func() (*bind.Token, error) { return nil, errors.New("locked") },
		"null":     func() (*bind.Token, error) { return nil, nil },
		"panicked": func() (*bind.Token, error) { panic("boom") },
	}
	for want, source := range sources {
		options := bind.NewOptions("http://127.0.0.1:1")
		options.SetTokenSource(source)
		client, err := bind.NewClient(options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Me(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestOptionsReachTheClient(t *testing.T) {
	t.Parallel()
	options := bind.NewOptions("http://127.0.0.1:1")
	options.UserAgent, options.AttemptTimeoutMillis, options.WaitMillis, options.Share = "a\nb", -1, -1, -1
	_, err := bind.NewClient(options)
	for _, part := range []string{"WithUserAgent", "WithAttemptTimeout", "WithWait", "WithShare"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not in %v", part, err)
		}
	}
}

// TestEveryTypeCrossesTheBoundary walks all that the client's methods take and give: gobind leaves out silently what it
// cannot bind.
func TestEveryTypeCrossesTheBoundary(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	for _, root := range []any{&bind.Client{}, &bind.Options{}, &bind.APIError{}} {
		walk(t, reflect.TypeOf(root), seen)
	}
	if len(seen) < 10 {
		t.Errorf("only %d types were seen", len(seen))
	}
}

func walk(t *testing.T, p reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[p] {
		return
	}
	seen[p] = true
	for m := range p.Methods() {
		checkSignature(t, fmt.Sprintf("%s.%s", p, m.Name), m.Type, p.Kind() == reflect.Pointer, seen)
	}
	if p.Kind() != reflect.Pointer {
		return
	}
	for f := range p.Elem().Fields() {
		if f.IsExported() {
			check(t, fmt.Sprintf("%s.%s", p, f.Name), f.Type, seen)
		}
	}
}

func checkSignature(t *testing.T, name string, f reflect.Type, method bool, seen map[reflect.Type]bool) {
	t.Helper()
	for i := range f.NumIn() {
		if i > 0 || !method {
			check(t, name, f.In(i), seen)
		}
	}
	isError := func(i int) bool { return f.Out(i) == reflect.TypeFor[error]() }
	if f.NumOut() > 2 || f.NumOut() == 2 && !isError(1) || f.IsVariadic() {
		t.Errorf("%s cannot be bound: %s", name, f)
	}
	for i := range f.NumOut() {
		if !isError(i) {
			check(t, name, f.Out(i), seen)
		}
	}
}

func check(t *testing.T, name string, v reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch v.Kind() { //nolint:exhaustive // all other kinds do not cross
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		if v.PkgPath() == "" {
			return
		}
	case reflect.Slice:
		if v.Elem().Kind() == reflect.Uint8 {
			return
		}
	case reflect.Interface:
		walk(t, v, seen)
		return
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct && strings.HasSuffix(v.Elem().PkgPath(), "/bind") {
			walk(t, v, seen)
			return
		}
	}
	t.Errorf("%s: %s does not cross the boundary", name, v)
}

// example:begin

func TestAnIdempotencyKeyOfTheApps(t *testing.T) {
	t.Parallel()
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.ParseResult{Parser: "local"})
	}))
	t.Cleanup(server.Close)
	options := bind.NewOptions(server.URL)
	options.SetTokenSource(source(fixed))
	client, err := bind.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	call := bind.NewCall()
	call.IdempotencyKey = "of the app"
	for _, c := range []*bind.Call{call, nil} {
		if _, err := client.Parse(c, "x", ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 2 || keys[0] != "of the app" || keys[1] == "" || keys[1] == keys[0] {
		t.Errorf("the keys were %q", keys)
	}
}

func TestServerLimitsRaise(t *testing.T) {
	t.Parallel()
	limit, left := int64(15), int64(15)
	answer := api.Limits{Caller: api.LimitsCaller{Kind: "user"}, Budgets: []api.LimitStatus{
		{Name: "tasks.export", Per: api.PerUser, Limit: &limit, Remaining: &left, WindowSeconds: 60, Enforced: true},
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	for raise, want := range map[bool]int64{false: 5, true: 15} {
		options := bind.NewOptions(server.URL)
		options.SetTokenSource(source(fixed))
		options.ServerLimits = raise
		client, err := bind.NewClient(options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.FetchLimits(nil); err != nil {
			t.Fatal(err)
		}
		if s, err := client.Limits("tasks.export"); err != nil || s.Remaining != want {
			t.Errorf("raised: %t: %+v, %v, want %d left", raise, s, err, want)
		}
	}
}

// example:end
