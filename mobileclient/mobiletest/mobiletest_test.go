package mobiletest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
	"example.com/gatehouse/mobileclient/mobiletest"
)

func clientOf(t *testing.T, server *mobiletest.Server, person string, opts ...mobileclient.Option) *mobileclient.Client {
	t.Helper()
	opts = append([]mobileclient.Option{
		mobileclient.WithHTTPClient(server.Client()), mobileclient.WithRetryWait(0),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token(person))),
	}, opts...)
	client, err := mobileclient.New(mobiletest.URL, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestEveryCallOfTheSDKWorks uses each method once, and shows that each route that the SDK calls has its answer.
func TestEveryCallOfTheSDKWorks(t *testing.T) {
	t.Parallel()
	server := mobiletest.New()
	client, ctx := clientOf(t, server, "alice"), t.Context()
	// example:begin
	task, err := client.CreateTask(ctx, api.TaskCreate{Title: "Buy milk", Tags: []string{"home"}})
	if err != nil || task.Title != "Buy milk" || task.Priority != api.PriorityNone || !api.IsID(task.ID) {
		t.Fatalf("create: %+v, %v", task, err)
	}
	if task, err = client.UpdateTask(ctx, task.ID, api.TaskUpdate{Done: api.Some(true), Tags: api.Clear[[]string]()}); err != nil || !task.Done || len(task.Tags) != 0 {
		t.Errorf("update: %+v, %v", task, err)
	}
	if got, err := client.Task(ctx, task.ID); err != nil || !got.Done {
		t.Errorf("get: %+v, %v", got, err)
	}
	stream, err := client.Export(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil || !strings.Contains(string(text), "Buy milk") || stream.Close() != nil {
		t.Errorf("export: %q, %v", text, err)
	}
	if report, err := client.CreateReport(ctx, api.ReportCreate{TaskID: task.ID, Reason: "spam"}); err != nil || report.TaskID != task.ID {
		t.Errorf("report: %+v, %v", report, err)
	}
	if result, err := client.Parse(ctx, api.ParseRequest{Text: "milk\n\ncall mum"}); err != nil || len(result.Drafts) != 2 {
		t.Errorf("parse: %+v, %v", result, err)
	}
	if page, err := client.Tasks(ctx, mobileclient.TaskQuery{}); err != nil || len(page.Items) != 1 {
		t.Errorf("list: %+v, %v", page, err)
	}
	// example:end
	if me, err := client.Me(ctx); err != nil || me.ID != "alice" {
		t.Errorf("me: %+v, %v", me, err)
	}
	if org, err := client.Organisation(ctx); err != nil || org.MemberCount != 1 {
		t.Errorf("org: %+v, %v", org, err)
	}
	// example:begin
	if err := client.DeleteTask(ctx, task.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := client.DeleteTask(ctx, task.ID); codeOf(err) != api.CodeNotFound {
		t.Errorf("delete again: %v", err)
	}
	// example:end
	if err := client.DeleteMe(ctx); err != nil {
		t.Errorf("delete me: %v", err)
	}
	if limits, err := client.FetchLimits(ctx); err != nil || limits.Caller.UserID != "alice" || len(limits.Budgets) < 3 {
		t.Errorf("limits: %+v, %v", limits, err)
	}
	called := map[string]bool{}
	for _, r := range server.Requests() {
		called[r.Route] = true
		if r.Person != "alice" {
			t.Errorf("%+v is not alice's", r)
		}
	}
	for _, r := range api.Routes() {
		if r.Class == api.ClassUser && !called[r.ID] {
			t.Errorf("%s did not reach the server", r.ID)
		}
	}
}

func codeOf(err error) api.Code {
	var e *mobileclient.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// example:begin

func TestPages(t *testing.T) {
	t.Parallel()
	client := clientOf(t, mobiletest.New(), "alice")
	for i := range 5 {
		if _, err := client.CreateTask(t.Context(), api.TaskCreate{Title: fmt.Sprint(i), Done: i == 2}); err != nil {
			t.Fatal(err)
		}
	}
	open, got := false, ""
	for task, err := range client.AllTasks(t.Context(), mobileclient.TaskQuery{Limit: 2, Done: &open}) {
		if err != nil {
			t.Fatal(err)
		}
		got += task.Title
	}
	if got != "4310" {
		t.Errorf("got %q", got)
	}
}

// example:end

func TestRefusals(t *testing.T) {
	t.Parallel()
	server := mobiletest.New()
	client := clientOf(t, server, "alice")
	// example:begin
	if _, err := client.CreateTask(t.Context(), api.TaskCreate{}); codeOf(err) != api.CodeValidationFailed {
		t.Errorf("blank title: %v", err)
	}
	// example:end
	server.FailNext(api.CodeUnavailable, 5*time.Second)
	if _, err := client.Me(t.Context()); codeOf(err) != api.CodeUnavailable {
		t.Errorf("told to fail: %v", err)
	}
	server.Handle(api.RouteMeGet, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	if _, err := client.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("told to be a teapot: %v", err)
	}
	server.Handle(api.RouteMeGet, nil)
	if _, err := client.Me(t.Context()); err != nil {
		t.Errorf("restored: %v", err)
	}
	server.Revoke(mobiletest.Token("alice"))
	if _, err := client.Me(t.Context()); codeOf(err) != api.CodeAuthFailed {
		t.Errorf("revoked: %v", err)
	}
	anonymous, err := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := anonymous.Me(t.Context()); codeOf(err) != api.CodeAuthFailed {
		t.Errorf("without a token: %v", err)
	}
	if limits, err := anonymous.FetchLimits(t.Context()); err != nil || len(limits.Budgets) != 1 || limits.Budgets[0].Name != api.BudgetEdge {
		t.Errorf("limits without a token: %+v, %v", limits, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Me(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestTheServerCountsLikeTheContract spends a budget from outside the SDK's sight, and has the clock bring it back.
func TestTheServerCountsLikeTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mobiletest.New()
		server.Spend("alice", api.BudgetUser, 100)
		client := clientOf(t, server, "alice")
		_, err := client.Me(t.Context())
		var e *mobileclient.Error
		if !errors.As(err, &e) || e.Local || e.Code != api.CodeRateLimitExceeded || e.Wait() != time.Minute || e.Details.Budgets[0] != api.BudgetUser {
			t.Fatalf("got %+v", err)
		}
		if _, err := clientOf(t, server, "bob").Me(t.Context()); err != nil {
			t.Errorf("bob: %v", err)
		}
		server.Advance(time.Minute)
		if _, err := client.Me(t.Context(), mobileclient.SkipRateLimit()); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// TestTheSDKIsNotRefusedByTheFake runs into each limit, and only the client says so.
func TestTheSDKIsNotRefusedByTheFake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mobiletest.New()
		client := clientOf(t, server, "alice")
		for range 300 {
			_, _ = client.Me(t.Context())
			_, _ = client.Parse(t.Context(), api.ParseRequest{Text: "x"}) // example:line
			time.Sleep(time.Second / 3)
		}
		for _, r := range server.Requests() {
			if r.Status == http.StatusTooManyRequests {
				t.Fatalf("refused: %+v", r)
			}
		}
		if n := len(server.Requests()); n < 100 {
			t.Errorf("only %d requests", n)
		}
	})
}

func TestALowerLimitIsLearned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mobiletest.New()
		server.SetBudget(api.BudgetUser, 3)
		client := clientOf(t, server, "alice")
		for i := range 5 {
			_, err := client.Me(t.Context())
			var e *mobileclient.Error
			if refused := errors.As(err, &e); refused != (i >= 3) || refused && !e.Local {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

// example:begin

// TestTokensBlockParseAlone has a model whose calls cost much: that some are left is no room for another call, and no
// reason to hold back anything else.
func TestTokensBlockParseAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mobiletest.New()
		server.SetCost(api.BudgetTokens, 15_000)
		client, ctx := clientOf(t, server, "alice"), t.Context()
		parse := func() error {
			time.Sleep(time.Second)
			_, err := client.Parse(ctx, api.ParseRequest{Text: "milk"})
			return err
		}
		if err := parse(); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			var e *mobileclient.Error
			if err := parse(); !errors.As(err, &e) || e.Local != (i > 0) || len(e.Details.Budgets) != 1 || e.Details.Budgets[0] != api.BudgetTokens {
				t.Errorf("parse %d beyond the tokens: %v", i+1, err)
			}
			if _, err := client.Me(ctx); err != nil {
				t.Errorf("another route: %v", err)
			}
		}
		server.SetCost(api.BudgetTokens, 5000)
		time.Sleep(time.Minute) // However long the server says, after a minute one call finds out.
		if err := parse(); err != nil {
			t.Errorf("a cheaper call a minute later: %v", err)
		}
	})
}

// example:end

func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	resp, err := mobiletest.New().Client().Get(mobiletest.URL + "/api/v1/nothing")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Type") != api.ContentTypeProblem {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
}

// TestAfterAResetTheClientIsFreeWithinItsProbe has others spend all, and the server forget it a second later: at the latest a
// minute after the refusal one call finds out, and the others follow. Who asks for the limits knows at once.
func TestAfterAResetTheClientIsFreeWithinItsProbe(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]bool{"by itself": false, "by asking": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := mobiletest.New()
				server.Spend("alice", api.BudgetUser, 100)
				client, ctx := clientOf(t, server, "alice"), t.Context()
				if _, err := client.Me(ctx); !errors.Is(err, mobileclient.ErrRateLimited) {
					t.Fatalf("got %v", err)
				}
				time.Sleep(time.Second)
				server.Advance(time.Minute)
				if ask {
					if _, err := client.FetchLimits(ctx); err != nil {
						t.Fatal(err)
					}
				} else {
					if _, err := client.Me(ctx); !errors.Is(err, mobileclient.ErrRateLimited) || len(server.Requests()) != 1 {
						t.Errorf("it left before Retry-After: %v", err)
					}
					time.Sleep(61 * time.Second) // Retry-After and its jitter.
				}
				for range 90 {
					if _, err := client.Me(ctx); err != nil {
						t.Fatalf("after the reset: %v", err)
					}
				}
			})
		})
	}
}
