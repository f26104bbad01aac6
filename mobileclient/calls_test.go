package mobileclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// example:begin

const taskID = "0198c0de-0000-7000-8000-000000000001"

// example:end

// wanted is what a typed method must send.
type wanted struct {
	method, uri, body string
	call              func(context.Context, *mobileclient.Client) (any, error)
	answer            any
}

func allCalls() map[string]wanted {
	// example:begin
	done := true
	task := api.Task{ID: taskID, Title: "Buy milk", Priority: api.PriorityLow, Tags: []string{"home"}}
	// example:end
	return map[string]wanted{
		api.RouteLimitsGet: {
			method: "GET", uri: "/api/v1/limits", answer: api.Limits{Caller: api.LimitsCaller{Kind: "user", UserID: "u"}},
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) { return c.FetchLimits(ctx) },
		},
		api.RouteMeGet: {
			method: "GET", uri: "/api/v1/me", answer: api.Me{ID: "u", Name: "Alice", Via: "bearer"},
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) { return c.Me(ctx) },
		},
		api.RouteMeDelete: {
			method: "DELETE", uri: "/api/v1/me",
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) { return nil, c.DeleteMe(ctx) },
		},
		api.RouteOrgGet: {
			method: "GET", uri: "/api/v1/org", answer: api.Organisation{ID: "o", Name: "Acme", MemberCount: 2},
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) { return c.Organisation(ctx) },
		},
		// example:begin
		api.RouteTasksList: {
			method: "GET", uri: "/api/v1/tasks?cursor=a%2Fb&done=true&limit=7", answer: api.TaskList{Items: []api.Task{task}, NextCursor: "n"},
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) {
				return c.Tasks(ctx, mobileclient.TaskQuery{Done: &done, Limit: 7, Cursor: "a/b"})
			},
		},
		api.RouteTasksGet: {
			method: "GET", uri: "/api/v1/tasks/" + taskID, answer: task,
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) { return c.Task(ctx, taskID) },
		},
		api.RouteTasksCreate: {
			method: "POST", uri: "/api/v1/tasks", body: `{"title":"Buy milk"}`, answer: task,
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) {
				return c.CreateTask(ctx, api.TaskCreate{Title: "Buy milk"})
			},
		},
		api.RouteTasksUpdate: {
			method: "PATCH", uri: "/api/v1/tasks/" + taskID, body: `{"dueAt":null,"done":true}`, answer: task,
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) {
				return c.UpdateTask(ctx, taskID, api.TaskUpdate{DueAt: api.Clear[api.Time](), Done: api.Some(true)})
			},
		},
		api.RouteTasksDelete: {
			method: "DELETE", uri: "/api/v1/tasks/" + taskID,
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) { return nil, c.DeleteTask(ctx, taskID) },
		},
		api.RouteTasksParse: {
			method: "POST", uri: "/api/v1/tasks/parse", body: `{"text":"milk tomorrow","timezone":"Europe/Berlin"}`,
			answer: api.ParseResult{Parser: "local", Drafts: []api.Draft{{Title: "milk", Spans: []api.Span{{Start: 5, End: 13, Kind: "due"}}}}},
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) {
				return c.Parse(ctx, api.ParseRequest{Text: "milk tomorrow", Timezone: "Europe/Berlin"})
			},
		},
		api.RouteTasksExport: {
			method: "GET", uri: "/api/v1/tasks/export", answer: "id,title\r\n",
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) {
				stream, err := c.Export(ctx)
				if err != nil {
					return nil, err
				}
				defer stream.Close()
				text, err := io.ReadAll(stream)
				return string(text), err
			},
		},
		api.RouteReportsCreate: {
			method: "POST", uri: "/api/v1/reports", body: `{"taskId":"` + taskID + `","reason":"spam"}`, answer: api.Report{ID: "r", TaskID: taskID, Reason: "spam"},
			call: func(ctx context.Context, c *mobileclient.Client) (any, error) {
				return c.CreateReport(ctx, api.ReportCreate{TaskID: taskID, Reason: "spam"})
			},
		},
		// example:end
	}
}

// TestEveryUserRouteHasItsMethod walks the contract: a route that a user may call and the client has no method for fails it.
func TestEveryUserRouteHasItsMethod(t *testing.T) {
	t.Parallel()
	calls := allCalls()
	for _, route := range api.Routes() {
		if route.Class != api.ClassUser && route.ID != api.RouteLimitsGet {
			continue
		}
		want, ok := calls[route.ID]
		if !ok {
			t.Errorf("no method for %s", route.ID)
			continue
		}
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			checkCall(t, route, want)
		})
	}
}

func checkCall(t *testing.T, route api.Route, want wanted) {
	t.Helper()
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != want.method || r.RequestURI != want.uri || string(body) != want.body {
			t.Errorf("sent %s %s %q, want %s %s %q", r.Method, r.RequestURI, body, want.method, want.uri, want.body)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("Authorization is %q", got)
		}
		if got := r.Header.Get("Content-Type"); (got == "application/json") != (want.body != "") {
			t.Errorf("Content-Type is %q for body %q", got, body)
		}
		answer(w, route, want.answer)
	}, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))
	got, err := want.call(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if asJSON(t, got) != asJSON(t, want.answer) {
		t.Errorf("got %s, want %s", asJSON(t, got), asJSON(t, want.answer))
	}
}

func answer(w http.ResponseWriter, route api.Route, body any) {
	if text, ok := body.(string); ok {
		w.Header().Set("Content-Type", route.ContentType)
		_, _ = io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(route.Status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// newClient returns a client of a server that answers with handler.
func newClient(t *testing.T, handler http.HandlerFunc, opts ...mobileclient.Option) *mobileclient.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := mobileclient.New(server.URL+"/", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// example:begin

func TestAnIDThatIsNoneIsNotSent(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("sent %s", r.URL) })
	for _, id := range []string{"", "export", "..", "a/b", "42", strings.ToUpper(taskID)} {
		_, err := client.Task(t.Context(), id)
		e := asError(t, err)
		if e.Code != api.CodeNotFound || e.Status != http.StatusNotFound || !e.Local || e.Details.Endpoint != "/api/v1/tasks/:id" {
			t.Errorf("id %q: %+v", id, e)
		}
	}
}

// example:end

func TestUnknownFieldsOfAnAnswerAreIgnored(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"u","name":"Alice","shoeSize":43,"organisation":{"id":"o","motto":"?"}}`)
	})
	me, err := client.Me(t.Context())
	if err != nil || me.Name != "Alice" || me.Organisation.ID != "o" {
		t.Errorf("got %+v, %v", me, err)
	}
}

// example:begin

func TestAnExportOutlivesTheAttemptTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/csv")
			_, _ = io.WriteString(w, "first\r\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "last\r\n")
		})
		stream, err := client.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		text, err := io.ReadAll(stream)
		if err != nil || string(text) != "first\r\nlast\r\n" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

// example:end

func TestAnAttemptTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, mobileclient.WithAttemptTimeout(20*time.Second), mobileclient.WithRetryWait(0))
		began := time.Now()
		_, err := client.Me(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "20s") || !strings.Contains(err.Error(), api.RouteMeGet) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
