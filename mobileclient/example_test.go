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

// exampleServer stands for the API. It knows one task and one person.
func exampleServer() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.Me{ID: "u1", Name: "Alice"})
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
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))

	for range 4 { // Three in a second are allowed.
		_, err := client.Parse(context.Background(), api.ParseRequest{Text: "buy milk tomorrow"})
		var e *mobileclient.Error
		if errors.As(err, &e) && errors.Is(err, mobileclient.ErrRateLimited) {
			fmt.Println(e.Code, e.Status, e.Local, e.Details.Endpoint, e.Details.Budgets)
		}
	}
	// Output: RATE_LIMIT_EXCEEDED 429 true /api/v1/tasks/parse [tasks.parse.burst]
}

func ExampleError_fields() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))

	_, err := client.CreateTask(context.Background(), api.TaskCreate{})
	var e *mobileclient.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Fields)
	}
	// Output: VALIDATION_FAILED [{title must not be blank}]
}

// What would be let pass is known without asking the server and without spending anything.
func ExampleClient_Limits() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))

	for range 2 {
		_, _ = client.Parse(context.Background(), api.ParseRequest{Text: "buy milk tomorrow"})
	}
	standing, _ := client.Limits("/api/v1/tasks/parse")
	fmt.Println(standing.Allowed, standing.Remaining)
	// Output: true 1
}

// A call that must not wait, such as the one that a person just asked for, may skip the limit. It is counted all the same.
func ExampleSkipRateLimit() {
	server := exampleServer()
	defer server.Close()
	client, _ := mobileclient.New(server.URL, mobileclient.WithBudget("user", 1, time.Minute))

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
