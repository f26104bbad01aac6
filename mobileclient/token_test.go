package mobileclient_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// counted gives the tokens t1, t2, … that say nothing of whose they are.
func counted(asked *atomic.Int64, expiresIn time.Duration) mobileclient.TokenSource {
	return func(context.Context) (mobileclient.Token, error) {
		return mobileclient.Token{Value: fmt.Sprintf("t%d", asked.Add(1)), ExpiresIn: expiresIn}, nil
	}
}

func TestATokenIsAskedForOnceByAllCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		slow := func(ctx context.Context) (mobileclient.Token, error) {
			time.Sleep(time.Second)
			return counted(&asked, 0)(ctx)
		}
		client := pipeClient(t, ok, mobileclient.WithTokenSource(slow))
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if _, err := client.Me(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if got := asked.Load(); got != 1 {
			t.Errorf("asked %d times", got)
		}
	})
}

func TestTheQuestionOutlivesTheCallThatAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		slow := func(ctx context.Context) (mobileclient.Token, error) {
			select {
			case <-time.After(10 * time.Second):
				return counted(&asked, 0)(ctx)
			case <-ctx.Done():
				return mobileclient.Token{}, ctx.Err()
			}
		}
		client := pipeClient(t, ok, mobileclient.WithTokenSource(slow))
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Me(hasty); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := client.Me(t.Context()); err != nil {
			t.Errorf("the one that waited on: %v", err)
		}
		if got := asked.Load(); got != 1 {
			t.Errorf("asked %d times", got)
		}
	})
}

func TestATokenIsRenewedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		client := pipeClient(t, ok, mobileclient.WithTokenSource(counted(&asked, time.Hour)))
		for _, step := range []struct {
			after time.Duration
			want  int64
		}{{0, 1}, {time.Hour - 31*time.Second, 1}, {time.Second, 2}} {
			time.Sleep(step.after)
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := asked.Load(); got != step.want {
				t.Errorf("after %v more: asked %d times, want %d", step.after, got, step.want)
			}
		}
	})
}

// example:begin

func TestARefusedTokenIsReplacedOnceForAllAndTheCallsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			if bearer(r) == "t1" {
				problem(w, api.NewProblem(api.CodeAuthFailed, ""))
				return
			}
			ok(w, r)
		}, mobileclient.WithTokenSource(counted(&asked, 0)))
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() {
				if _, err := client.CreateTask(t.Context(), api.TaskCreate{Title: "x"}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if got := asked.Load(); got != 2 {
			t.Errorf("asked %d times, want 2", got)
		}
		// A 401 is charged to nothing but the edge.
		wantRemaining(t, client, api.RouteTasksCreate, 20)
	})
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// example:end

func TestATokenThatTheSourceRepeatsIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var arrivals atomic.Int64
		client := pipeClient(t, func(w http.ResponseWriter, _ *http.Request) {
			arrivals.Add(1)
			problem(w, api.NewProblem(api.CodeAuthFailed, ""))
		})
		_, err := client.Me(t.Context())
		if e := asError(t, err); e.Code != api.CodeAuthFailed || e.Local {
			t.Errorf("got %+v", e)
		}
		if got := arrivals.Load(); got != 1 {
			t.Errorf("sent %d times", got)
		}
	})
}

// TestFailuresSpendTheAddress has the client hold back what the edge would refuse a stranger.
func TestFailuresSpendTheAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var arrivals atomic.Int64
		client := pipeClient(t, func(w http.ResponseWriter, _ *http.Request) {
			arrivals.Add(1)
			problem(w, api.NewProblem(api.CodeAuthFailed, ""))
		}, mobileclient.WithBudget("edge", 3, time.Minute))
		for range 5 {
			_, err := client.Me(t.Context())
			asError(t, err)
		}
		_, err := client.Me(t.Context())
		if e := asError(t, err); !e.Local || e.Details.Budgets[0] != api.BudgetEdge {
			t.Errorf("got %+v", e)
		}
		if got := arrivals.Load(); got != 3 {
			t.Errorf("sent %d times, want 3", got)
		}
	})
}

// TestAKnownCallerSpendsNoAddress has the first answer give the address back, and a rejection charge it again.
func TestAKnownCallerSpendsNoAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var revoked atomic.Bool
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			if revoked.Load() {
				problem(w, api.NewProblem(api.CodeAuthFailed, ""))
				return
			}
			ok(w, r)
		}, mobileclient.WithBudget("edge", 1, time.Minute))
		for range 3 {
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		revoked.Store(true)
		for range 2 {
			_, err := client.Me(t.Context())
			asError(t, err)
		}
		s, err := client.Limits(api.RouteMeGet)
		if err != nil || s.Allowed || s.Budgets[0] != api.BudgetEdge {
			t.Errorf("after the rejections: %+v, %v", s, err)
		}
	})
}

func TestAFailingSourceIsLeftAloneForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("sign-in is down")
		var asked atomic.Int64
		client := pipeClient(t, ok, mobileclient.WithTokenSource(func(context.Context) (mobileclient.Token, error) {
			asked.Add(1)
			return mobileclient.Token{}, down
		}))
		for _, step := range []struct {
			after time.Duration
			want  int64
		}{{0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}} {
			time.Sleep(step.after)
			if _, err := client.Me(t.Context()); !errors.Is(err, down) {
				t.Errorf("got %v", err)
			}
			if got := asked.Load(); got != step.want {
				t.Errorf("after %v more: asked %d times, want %d", step.after, got, step.want)
			}
		}
		wantRemaining(t, client, api.RouteMeGet, 100)
	})
}

func TestFaultySources(t *testing.T) {
	t.Parallel()
	sources := map[string]mobileclient.TokenSource{
		"empty":    mobileclient.StaticToken(""),
		"panicked": func(context.Context) (mobileclient.Token, error) { panic("boom") },
	}
	for want, source := range sources {
		client := newClient(t, ok, mobileclient.WithTokenSource(source))
		if _, err := client.Me(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func jwt(subject, serial string) string {
	payload := fmt.Sprintf(`{"iss":"https://issuer.example","sub":%q,"jti":%q}`, subject, serial)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

// TestSlotsBelongToThePerson changes tokens: of one person, who keeps the slots; of another, who starts afresh; and back.
func TestSlotsBelongToThePerson(t *testing.T) {
	t.Parallel()
	bob := mobileclient.Token{Value: "opaque", Subject: "bob"}
	steps := []struct {
		token mobileclient.Token
		want  int64
	}{
		{mobileclient.Token{Value: jwt("alice", "1")}, 99},
		{mobileclient.Token{Value: jwt("alice", "2")}, 98},
		{bob, 99},
		{mobileclient.Token{Value: jwt("carol", "1")}, 99},
		{bob, 98},
		{mobileclient.Token{Value: jwt("alice", "3")}, 97},
		{mobileclient.Token{Value: "opaque-too"}, 99},
		{mobileclient.Token{Value: "opaque-three"}, 98},
	}
	synctest.Test(t, func(t *testing.T) {
		step := 0
		client := pipeClient(t, ok, mobileclient.WithTokenSource(func(context.Context) (mobileclient.Token, error) {
			token := steps[step].token
			token.ExpiresIn = time.Second
			return token, nil
		}))
		for i := range steps {
			step = i
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := remaining(t, client, api.RouteMeGet); got != steps[i].want {
				t.Errorf("step %d: %d remain, want %d", i, got, steps[i].want)
			}
			time.Sleep(time.Second)
		}
	})
}

// rolling gives a person a new token each time.
func rolling(subject string, expiresIn time.Duration) mobileclient.TokenSource {
	var serial atomic.Int64
	return func(context.Context) (mobileclient.Token, error) {
		return mobileclient.Token{Value: fmt.Sprintf("t%d", serial.Add(1)), Subject: subject, ExpiresIn: expiresIn}, nil
	}
}
