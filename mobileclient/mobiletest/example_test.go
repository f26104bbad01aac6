package mobiletest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
	"example.com/gatehouse/mobileclient/mobiletest"
)

// What does the program do when another device has spent the budget?
func Example() {
	server := mobiletest.New()
	client, _ := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()), mobileclient.WithRetryWait(0),
		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))
	parse := func() {
		_, err := client.Parse(context.Background(), api.ParseRequest{Text: "buy milk"})
		e, _ := errors.AsType[*mobileclient.Error](err)
		if e == nil {
			fmt.Println("parsed")
			return
		}
		fmt.Println(e.Details.Budgets, e.Details.RetryAfterSeconds > 55, "known before it was sent:", e.Local)
	}

	server.Spend("alice", "tasks.parse", 10)
	parse() // The server says so,
	parse() // and from then on the client knows.
	server.Advance(time.Minute)
	if _, err := client.FetchLimits(context.Background()); err != nil {
		fmt.Println(err)
	}
	parse()
	// Output:
	// [tasks.parse] true known before it was sent: false
	// [tasks.parse] true known before it was sent: true
	// parsed
}
