package app_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
)

func (a as) create(body string) api.Task {
	a.t.Helper()
	resp := a.do("POST", "/api/v1/tasks", body)
	want(a.t, resp, http.StatusCreated)
	task := servertest.JSON[api.Task](a.t, resp)
	if got := resp.Header.Get("Location"); got != "/api/v1/tasks/"+task.ID {
		a.t.Errorf("Location is %q", got)
	}
	return task
}

func TestTaskLifecycle(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice, bob, carol := as{t, s, s.Token("alice")}, as{t, s, s.Token("bob")}, as{t, s, s.Token("carol")}
	task := alice.create(`{"title":"Buy 🥛 '; DROP TABLE tasks; --","notes":"a\nb","dueAt":"2026-12-24T18:00:00+01:00","priority":"high","tags":["Home","𝒳"]}`)
	path := "/api/v1/tasks/" + task.ID
	if task.Title != "Buy 🥛 '; DROP TABLE tasks; --" || task.DueAt.Format(api.TimeLayout) != "2026-12-24T17:00:00.000Z" || task.Done || len(task.Tags) != 2 || task.CreatedBy == nil {
		t.Errorf("created %+v", task)
	}
	// A member of the organisation sees and edits it; to anybody else it does not exist.
	want(t, bob.do("GET", path, ""), http.StatusOK)
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		body := map[string]string{"PATCH": `{"done":true}`}[method]
		want(t, carol.do(method, path, body), http.StatusNotFound)
	}
	want(t, carol.do("POST", "/api/v1/reports", `{"taskId":"`+task.ID+`","reason":"spam"}`), http.StatusNotFound)
	patched := servertest.JSON[api.Task](t, bob.do("PATCH", path, `{"done":true,"dueAt":null,"tags":null}`))
	if !patched.Done || patched.DueAt != nil || len(patched.Tags) != 0 || patched.Title != task.Title || patched.Notes != "a\nb" || patched.Priority != "high" {
		t.Errorf("patched %+v", patched)
	}
	same := alice.do("PATCH", path, `{}`)
	want(t, same, http.StatusOK)
	want(t, alice.do("POST", "/api/v1/reports", `{"taskId":"`+task.ID+`","reason":"spam"}`), http.StatusCreated)
	want(t, alice.do("DELETE", path, ""), http.StatusNoContent)
	want(t, alice.do("DELETE", path, ""), http.StatusNotFound)
	want(t, alice.do("GET", "/api/v1/tasks/not-an-id", ""), http.StatusNotFound)
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	dave := as{t, s, s.Token("dave")}
	for i := range 7 {
		dave.create(fmt.Sprintf(`{"title":"task %d","done":%v}`, i, i%2 == 0))
	}
	var titles []string
	cursor := ""
	for page := 0; ; page++ {
		list := servertest.JSON[api.TaskList](t, dave.do("GET", "/api/v1/tasks?limit=3&cursor="+cursor, ""))
		for _, task := range list.Items {
			titles = append(titles, task.Title)
		}
		if cursor = list.NextCursor; cursor == "" || page > 5 {
			break
		}
	}
	if got := strings.Join(titles, ","); got != "task 6,task 5,task 4,task 3,task 2,task 1,task 0" {
		t.Errorf("the pages hold %s", got)
	}
	if list := servertest.JSON[api.TaskList](t, dave.do("GET", "/api/v1/tasks?done=true", "")); len(list.Items) != 4 || list.NextCursor != "" {
		t.Errorf("finished: %+v", list)
	}
	resp := dave.do("GET", "/api/v1/tasks?limit=201&done=maybe&cursor=!", "")
	want(t, resp, http.StatusUnprocessableEntity)
	if p := servertest.JSON[api.Problem](t, resp); len(p.Fields) != 3 {
		t.Errorf("faults: %+v", p.Fields)
	}
}

// Bodies are read strictly, and every fault is told at once.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := as{t, s, s.Token("alice")}
	cases := map[string]struct {
		body, kind string
		status     int
		code       api.Code
		fields     string
	}{
		"malformed":           {`{"title":`, "", 400, api.CodeInvalidJSON, ""},
		"trailing":            {`{"title":"x"} {}`, "", 400, api.CodeInvalidJSON, ""},
		"wrong type":          {`{"title":5}`, "", 400, api.CodeInvalidJSON, "title"},
		"wrong time":          {`{"title":"x","dueAt":"soon"}`, "", 400, api.CodeInvalidJSON, "dueAt"},
		"unknown field":       {`{"title":"x","colour":"red"}`, "", 400, api.CodeInvalidJSON, "colour"},
		"other letters":       {`{"Title":"x"}`, "", 400, api.CodeInvalidJSON, "Title"},
		"twice":               {`{"title":"x","title":"y"}`, "", 400, api.CodeInvalidJSON, "title"},
		"an array":            {`[]`, "", 400, api.CodeInvalidJSON, ""},
		"null":                {`null`, "", 400, api.CodeInvalidJSON, ""},
		"white space":         {"  \n", "", 400, api.CodeInvalidJSON, ""},
		"not UTF-8":           {"{\"title\":\"\xff\"}", "", 400, api.CodeInvalidJSON, ""},
		"rules":               {`{"title":" ","priority":"urgent","tags":["a","a"]}`, "", 422, api.CodeValidationFailed, "title priority tags[1]"},
		"NUL":                 {`{"title":"a\u0000b"}`, "", 422, api.CodeValidationFailed, "title"},
		"form":                {`title=x`, "application/x-www-form-urlencoded", 415, api.CodeUnsupportedMediaType, ""},
		"merge patch":         {`{"title":"x"}`, "application/merge-patch+json", 415, api.CodeUnsupportedMediaType, ""},
		"too large":           {`{"title":"` + strings.Repeat("x", 65<<10) + `"}`, "", 413, api.CodePayloadTooLarge, ""},
		"charset is fine":     {`{"title":"x"}`, "application/json; charset=utf-8", 201, "", ""},
		"charset in capitals": {`{"title":"x"}`, `application/json; charset="UTF-8"`, 201, "", ""},
		"other charset":       {`{"title":"x"}`, "application/json; charset=latin1", 415, api.CodeUnsupportedMediaType, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			if c.kind != "" {
				header.Set("Content-Type", c.kind)
			}
			resp := s.Do(servertest.Request{Method: "POST", Path: "/api/v1/tasks", Body: c.body, Token: alice.token, Header: header})
			want(t, resp, c.status)
			if c.code == "" {
				return
			}
			p := servertest.JSON[api.Problem](t, resp)
			var fields []string
			for _, f := range p.Fields {
				if f.Field != "" {
					fields = append(fields, f.Field)
				}
			}
			if p.Code != c.code || strings.Join(fields, " ") != c.fields || p.Detail == "" || p.Status != c.status || p.Type != "about:blank" {
				t.Errorf("answered %s", resp.Body)
			}
		})
	}
}

// A route's own budget is its user's, wherever they are, and that route's: others go on, and a refusal spends none of what it
// would have been charged besides.
func TestOwnBudgets(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) servertest.Env{
		"memory": func(*testing.T) servertest.Env { return servertest.Env{} },
		"redis": func(t *testing.T) servertest.Env {
			t.Helper()
			return servertest.Env{"REDIS_URL": redistest.Start(t).URL + "?read_timeout=2s"}
		},
	}
	for store, env := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, env(t))
			carol := s.Token("carol")
			export := func(token, from string) servertest.Response {
				return s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: token, From: from})
			}
			for i := range 5 {
				want(t, export(carol, fmt.Sprintf("203.0.113.%d", 60+i)), http.StatusOK)
			}
			wantRateLimited(t, export(carol, "203.0.113.60"), "tasks.export", "5 requests per 60s")
			wantRateLimited(t, export(carol, "203.0.113.66"), "tasks.export", "5 requests per 60s")
			want(t, export(s.Token("dave"), "203.0.113.60"), http.StatusOK)
			want(t, s.Do(servertest.Request{Path: "/api/v1/tasks", Token: carol}), http.StatusOK)
			budgets := limits(t, s, carol)
			if left := *status(t, budgets, "user").Remaining; left != 94 {
				t.Errorf("of 100 requests %d are left, want 94: five exports and a list are spent", left)
			}
			if own := status(t, budgets, "tasks.export"); *own.Remaining != 0 || string(own.Store) != store {
				t.Errorf("the route's own budget is %+v", own)
			}
		})
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	dave := as{t, s, s.Token("dave")}
	empty := dave.do("GET", "/api/v1/tasks/export", "")
	if string(empty.Body) != "id,title,notes,dueAt,priority,tags,done,createdBy,createdAt,updatedAt\r\n" {
		t.Errorf("an empty export is %q", empty.Body)
	}
	dave.create(`{"title":"=HYPERLINK(\"http://evil.example\")","notes":"a, \"b\"\nc","tags":["@x","y"],"priority":"low"}`)
	resp := dave.do("GET", "/api/v1/tasks/export", "")
	want(t, resp, http.StatusOK)
	if h := resp.Header; h.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
		t.Errorf("headers %v", h)
	}
	rows, err := csv.NewReader(strings.NewReader(string(resp.Body))).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v: %s", len(rows), err, resp.Body)
	}
	if row := rows[1]; row[1] != `'=HYPERLINK("http://evil.example")` || row[2] != "a, \"b\"\nc" || row[5] != "'@x y" || row[4] != "low" || row[6] != "false" {
		t.Errorf("the row is %q", row)
	}
	if strings.Count(string(resp.Body), "\n") != strings.Count(string(resp.Body), "\r\n") {
		t.Errorf("a line does not end with CR LF: %q", resp.Body)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := as{t, s, s.Token("alice")}
	resp := alice.do("POST", "/api/v1/tasks/parse", `{"text":"Call Bob tomorrow at 5pm #work !high","timezone":"Europe/Berlin"}`)
	want(t, resp, http.StatusOK)
	got := servertest.JSON[api.ParseResult](t, resp)
	if got.Parser != "local" || len(got.Drafts) != 1 {
		t.Fatalf("parsed %s", resp.Body)
	}
	if d := got.Drafts[0]; d.Title != "Call Bob" || d.DueAt == nil || d.Priority != "high" || len(d.Tags) != 1 || d.Tags[0] != "work" || len(d.Spans) == 0 {
		t.Errorf("the draft is %+v", d)
	}
	// A draft can be saved as it is.
	d := got.Drafts[0]
	alice.create(fmt.Sprintf(`{"title":%q,"dueAt":%q,"priority":%q,"tags":["work"]}`, d.Title, d.DueAt.Format(api.TimeLayout), d.Priority))
}
