package mobiletest_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
	"example.com/gatehouse/mobileclient/mobiletest"
)

func TestARequestSentAgainIsAnsweredAgain(t *testing.T) {
	t.Parallel()
	server := mobiletest.New()
	alice, bob, key := clientOf(t, server, "alice"), clientOf(t, server, "bob"), mobileclient.IdempotencyKey("k")
	create := func(c *mobileclient.Client, title string) (string, error) {
		task, err := c.CreateTask(t.Context(), api.TaskCreate{Title: title}, key)
		return task.ID, err
	}
	// A refusal is not kept, so the first that is done is the second.
	if _, err := create(alice, ""); codeOf(err) != api.CodeValidationFailed {
		t.Errorf("without a title: %v", err)
	}
	first, err := create(alice, "Buy milk")
	if err != nil {
		t.Fatal(err)
	}
	for range 40 { // More than the budget has.
		if again, err := create(alice, "Buy milk"); err != nil || again != first {
			t.Fatalf("again: %s, %v, want %s", again, err, first)
		}
	}
	if _, err := create(alice, "Buy bread"); codeOf(err) != api.CodeIdempotencyKeyReused {
		t.Errorf("another body: %v", err)
	}
	if other, err := create(bob, "Buy milk"); err != nil || other == first {
		t.Errorf("bob: %s, %v", other, err)
	}
	server.Advance(24 * time.Hour)
	if later, err := create(alice, "Buy milk"); err != nil || later == first {
		t.Errorf("a day later: %s, %v", later, err)
	}
}

func TestARequestAtWorkIsNotBegunTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mobiletest.New()
		done := 0
		server.Handle(api.RouteTasksParse, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(3 * time.Second)
			done++
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"parser":"model","drafts":[]}`))
		})
		client := clientOf(t, server, "alice")
		parse := func() error {
			_, err := client.Parse(t.Context(), api.ParseRequest{Text: "x"}, mobileclient.IdempotencyKey("k"))
			return err
		}
		if _, err := client.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		var first sync.WaitGroup
		first.Go(func() {
			if err := parse(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		err := parse()
		var e *mobileclient.Error
		if !errors.As(err, &e) || e.Code != api.CodeConflict || e.Wait() != time.Second {
			t.Errorf("while it is at work: %v", err)
		}
		first.Wait()
		if err := parse(); err != nil || done != 1 {
			t.Errorf("afterwards: %v, and it was done %d times", err, done)
		}
	})
}
