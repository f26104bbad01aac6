package mobileclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

func asError(t *testing.T, err error) *mobileclient.Error {
	t.Helper()
	var e *mobileclient.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not an *Error", err)
	}
	return e
}

func problem(w http.ResponseWriter, p api.Problem) {
	w.Header().Set("Content-Type", api.ContentTypeProblem)
	w.Header().Set(api.HeaderRequestID, "req-1")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// example:begin

// TestLocalAndRemoteRefusalsAreAlike spends a budget of two at the client, then at the server.
func TestLocalAndRemoteRefusalsAreAlike(t *testing.T) {
	t.Parallel()
	refuse := false
	client := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		if refuse {
			problem(w, api.NewRateLimitProblem("2 requests per 60s", 16321*time.Millisecond, "tasks.parse"))
			return
		}
		answer(w, api.Route{Status: http.StatusOK}, api.ParseResult{})
	}, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")), mobileclient.WithBudget("tasks.parse", 2, time.Minute))
	for range 2 {
		if _, err := client.Parse(t.Context(), api.ParseRequest{Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.Parse(t.Context(), api.ParseRequest{Text: "x"})
	local := asError(t, err)
	refuse = true
	_, err = client.Parse(t.Context(), api.ParseRequest{Text: "x"}, mobileclient.SkipRateLimit())
	remote := asError(t, err)

	for name, e := range map[string]*mobileclient.Error{"local": local, "remote": remote} {
		if !errors.Is(e, mobileclient.ErrRateLimited) || e.Code != api.CodeRateLimitExceeded || e.Status != http.StatusTooManyRequests ||
			e.Details.Endpoint != "/api/v1/tasks/parse" || !slices.Equal(e.Details.Budgets, []string{"tasks.parse"}) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if !local.Local || local.RequestID != "" || local.Message != "Rate limit exceeded. Please try again in 61 seconds." {
		t.Errorf("local: %+v", local)
	}
	if local.Wait() > 60600*time.Millisecond || local.Wait() < 59*time.Second || local.Details.RetryAfterSeconds != 61 {
		t.Errorf("local details: %+v", local.Details)
	}
	if remote.Local || remote.RequestID != "req-1" || remote.Details.RetryAfter != 16321 || remote.Details.RetryAfterSeconds != 17 {
		t.Errorf("remote: %+v", remote)
	}
}

func TestFieldsReachTheCaller(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
		p := api.NewProblem(api.CodeValidationFailed, "")
		p.Fields = []api.FieldError{{Field: "title", Message: "must not be blank"}}
		problem(w, p)
	})
	_, err := client.CreateTask(t.Context(), api.TaskCreate{})
	e := asError(t, err)
	if e.Code != api.CodeValidationFailed || len(e.Fields) != 1 || e.Fields[0].Field != "title" || errors.Is(err, mobileclient.ErrRateLimited) {
		t.Errorf("got %+v", e)
	}
}

// example:end

func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 5000)
	tests := map[string]struct {
		status        int
		kind, body    string
		header        string
		code          api.Code
		wait          int64
		message       string
		rateLimitedIs bool
	}{
		"a proxy's 502":          {status: 502, kind: "text/html", body: "<html>Bad gateway</html>", code: api.CodeUpstreamFailed, message: `text/html, beginning with "<html>Bad gateway</html>"`},
		"a proxy's 429":          {status: 429, kind: "text/plain", body: "slow down", header: "7", code: api.CodeRateLimitExceeded, wait: 7000, message: `"slow down"`, rateLimitedIs: true},
		"a captive portal":       {status: 200, kind: "text/html", body: "<h1>Hotel</h1>", message: `beginning with "<h1>Hotel</h1>"`},
		"an empty 503":           {status: 503, code: api.CodeUnavailable, message: "empty"},
		"a status of no code":    {status: 418, kind: "text/plain", body: "teapot", message: "teapot"},
		"JSON of something else": {status: 404, kind: "application/json", body: `{"msg":"no"}`, code: api.CodeNotFound, message: `{\"msg\":\"no\"}`},
		"a long body":            {status: 500, kind: "text/plain", body: long, code: api.CodeInternal, message: "äää…"},
		"a redirect":             {status: 308, header: "https://elsewhere.example/", message: "redirects to https://elsewhere.example/"},
		"JSON that breaks off":   {status: 403, kind: "application/problem+json", body: `{"code":"FORBIDDEN"`, code: api.CodeForbidden, message: `beginning with`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if test.kind != "" {
					w.Header().Set("Content-Type", test.kind)
				}
				if test.status == http.StatusPermanentRedirect {
					w.Header().Set("Location", test.header)
				} else if test.header != "" {
					w.Header().Set(api.HeaderRetryAfter, test.header)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := client.Me(t.Context())
			e := asError(t, err)
			if e.Status != test.status || e.Code != test.code || e.Details.RetryAfter != test.wait || !strings.Contains(e.Message, test.message) {
				t.Errorf("got %+v", e)
			}
			if errors.Is(err, mobileclient.ErrRateLimited) != test.rateLimitedIs || len(e.Message) > 400 || e.Local {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := mobileclient.New("ftp://x", mobileclient.WithBudget("user", 0, time.Minute), mobileclient.WithBudget("org", 5, time.Minute),
		mobileclient.WithHTTPClient(nil), mobileclient.WithTokenSource(nil), mobileclient.WithUserAgent("a\nb"), mobileclient.WithGuard(-1),
		mobileclient.WithAttemptTimeout(0), mobileclient.WithLateGrace(-1))
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"ftp://x", `"user"`, `no mirrored budget "org"`, "endpoint, edge, edge.caller, user", "WithHTTPClient", "WithTokenSource", "WithUserAgent", "WithGuard", "WithAttemptTimeout", "WithLateGrace"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "app.example.com", "/api", "https://", "https://u:p@x.example", "https://x.example?a=b", "https://x.example/api/v1", "https://x.example/api/v1/", "http://a b", "https://u:p@a b", "https://x.example#f"} {
		if _, err := mobileclient.New(base); err == nil {
			t.Errorf("%q is taken", base)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q shows its password: %v", base, err)
		}
	}
	for _, base := range []string{"https://x.example", "http://127.0.0.1:8080/", "https://x.example/gate"} {
		if _, err := mobileclient.New(base); err != nil {
			t.Errorf("%q: %v", base, err)
		}
	}
}
