package mobileclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// exampleServer stands for the API. It knows two tasks and one person.
func exampleServer() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.Me{ID: "u1", Name: "Alice"})
	})
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
