package mobileclient_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
	"example.com/gatehouse/mobileclient/mobiletest"
)

// exampleServer stands for the API. It knows one person, and some tasks.
func exampleServer() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.Me{ID: "u1", Name: "Alice"})
	})
	// example:begin
	mux.HandleFunc("GET /api/v1/tasks", func(w http.ResponseWriter, r *http.Request) {
		page := api.TaskList{Items: []api.Task{{Title: "Buy milk"}}, NextCursor: "2"}
		if r.FormValue("cursor") == "2" {
			page = api.TaskList{Items: []api.Task{{Title: "Call mum"}}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	})
	mux.HandleFunc("POST /api/v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		p := api.NewProblem(api.CodeValidationFailed, "")
		p.Fields = []api.FieldError{{Field: "title", Message: "must not be blank"}}
		w.Header().Set("Content-Type", api.ContentTypeProblem)
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p)
	})
	mux.HandleFunc("POST /api/v1/tasks/parse", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.ParseResult{Parser: "local"})
	})
	// example:end
	return httptest.NewServer(mux)
}

func Example() {
	server := exampleServer()
	defer server.Close()

	client, err := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))
	if err != nil {
		fmt.Println(err)
		return
	}
	me, err := client.Me(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(me.Name)
	// Output: Alice
}

// A refusal is the same error whether the client foresaw it or the server said it.
func ExampleError() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")), mobileclient.WithBudget("user", 3, time.Minute))

	for range 4 {
		_, err := client.Me(context.Background())
		if e, ok := errors.AsType[*mobileclient.Error](err); ok && errors.Is(err, mobileclient.ErrRateLimited) {
			fmt.Println(e.Code, e.Status, e.Local, e.Details.Endpoint, e.Details.Budgets)
		}
	}
	// Output: RATE_LIMIT_EXCEEDED 429 true /api/v1/me [user]
}

// example:begin

func ExampleError_fields() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))

	_, err := client.CreateTask(context.Background(), api.TaskCreate{})
	if e, ok := errors.AsType[*mobileclient.Error](err); ok {
		fmt.Println(e.Code, e.Fields)
	}
	// Output: VALIDATION_FAILED [{title must not be blank}]
}

// What would be let pass is known without asking the server and without spending anything.
func ExampleClient_Limits() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")), mobileclient.WithBudget("tasks.parse", 2, time.Minute))

	for range 2 {
		_, _ = client.Parse(context.Background(), api.ParseRequest{Text: "buy milk tomorrow"})
	}
	standing, _ := client.Limits("/api/v1/tasks/parse")
	fmt.Println(standing.Allowed, standing.Remaining, standing.Budgets)
	// Output: false 0 [tasks.parse]
}

// example:end

// A call that must not wait, such as the one that a person just asked for, may skip the limit. It is counted all the same.
func ExampleSkipRateLimit() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")), mobileclient.WithBudget("user", 1, time.Minute))

	for range 2 {
		_, err := client.Me(context.Background(), mobileclient.SkipRateLimit())
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
}

// A token source is asked when the token nears its end or was refused, once for all calls that wait.
func ExampleWithTokenSource() {
	server := exampleServer()
	defer server.Close()
	source := func(context.Context) (mobileclient.Token, error) {
		return mobileclient.Token{Value: "secret", Subject: "alice", ExpiresIn: time.Hour}, nil
	}

	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(source))
	me, err := client.Me(context.Background())
	fmt.Println(me.ID, err)
	// Output: u1 <nil>
}

// A background job may rather wait for its budgets than be refused.
func ExampleWithWait() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")),
		mobileclient.WithWait(10*time.Second), mobileclient.WithBudget("user", 1, 10*time.Millisecond))

	for range 3 {
		me, err := client.Me(context.Background())
		fmt.Println(me.Name, err)
	}
	// Output:
	// Alice <nil>
	// Alice <nil>
	// Alice <nil>
}

// example:begin

// All tasks, page after page.
func ExampleClient_AllTasks() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))

	for task, err := range client.AllTasks(context.Background(), mobileclient.TaskQuery{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(task.Title)
	}
	// Output:
	// Buy milk
	// Call mum
}

// A call that creates may be made again, by another process too, if it bears a key of one's own: it is done once.
func ExampleIdempotencyKey() {
	server := mobiletest.New()
	client, _ := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))

	create := func() (api.Task, error) {
		return client.CreateTask(context.Background(), api.TaskCreate{Title: "Buy milk"}, mobileclient.IdempotencyKey("shopping-2026-11-29"))
	}
	first, _ := create()
	again, err := create()
	fmt.Println(first.ID == again.ID, err)
	// Output: true <nil>
}

// example:end

// Two processes that act for one person and agree on it take half of every budget each.
func ExampleWithShare() {
	client, _ := mobileclient.New("https://app.example.com",
		mobileclient.WithTokenSource(mobileclient.StaticToken("secret")), mobileclient.WithShare(2))

	standing, _ := client.Limits("me.get")
	fmt.Println(standing.Remaining)
	// Output: 50
}

// example:begin

// After an upgrade the server lets more pass than the contract says; asking it teaches the client.
func ExampleWithServerLimits() {
	server := mobiletest.New()
	server.SetBudget("tasks.export", 30)
	client, _ := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()), mobileclient.WithServerLimits(),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))

	before, _ := client.Limits("tasks.export")
	limits, err := client.FetchLimits(context.Background())
	after, _ := client.Limits("tasks.export")
	fmt.Println(before.Remaining, after.Remaining, limits.Caller.Kind, err)
	// Output: 5 30 user <nil>
}

// attempts counts what was sent and what was refused without being sent, as metrics would.
type attempts struct{ sent, refused int }

// Observe is called after each attempt, by the goroutine of its call.
func (a *attempts) Observe(_ context.Context, e mobileclient.Event) {
	if e.Local() {
		a.refused++
		return
	}
	a.sent++
}

// An observer is told of every attempt. For logs there is one already: LogTo.
func ExampleWithObserver() {
	server := mobiletest.New()
	seen := &attempts{}
	client, _ := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()), mobileclient.WithObserver(seen),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))

	for range 7 {
		if stream, err := client.Export(context.Background()); err == nil {
			_ = stream.Close()
		}
	}
	fmt.Printf("%d sent, %d refused before\n", seen.sent, seen.refused)
	// Output: 5 sent, 2 refused before
}

// example:end

// A program's own transport, with its proxy or its certificates, and a name by which the server's log knows the program.
func ExampleWithHTTPClient() {
	server := exampleServer()
	defer server.Close()
	own := &http.Client{Transport: &http.Transport{TLSHandshakeTimeout: 5 * time.Second}}

	client, err := mobileclient.New(server.URL, mobileclient.WithHTTPClient(own), mobileclient.WithUserAgent("shopping-list/1.4"))
	if err != nil {
		fmt.Println(err)
		return
	}
	me, err := client.Me(context.Background())
	fmt.Println(me.Name, err)
	// Output: Alice <nil>
}

// A retry waits as long as the server says, and is left out if that is longer than the program will wait.
func ExampleWithRetryWait() {
	server := mobiletest.New()
	client, _ := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()), mobileclient.WithRetryWait(2*time.Second),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))

	server.FailNext(api.CodeUnavailable, time.Minute)
	_, err := client.Me(context.Background())
	fmt.Println(err)
	server.FailNext(api.CodeUpstreamFailed, 0)
	me, err := client.Me(context.Background())
	fmt.Println(me.Name, err, len(server.Requests()))
	// Output:
	// UNAVAILABLE (503): This is not available for the moment
	// alice <nil> 3
}

// example:begin

// An export is a stream; whoever opened it closes it.
func ExampleClient_Export() {
	server := mobiletest.New()
	client, _ := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))

	stream, err := client.Export(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	rows, err := csv.NewReader(stream).ReadAll()
	fmt.Println(rows[0][:2], len(rows), err)
	// Output: [id title] 1 <nil>
}

// example:end
