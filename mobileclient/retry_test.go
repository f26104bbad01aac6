package mobileclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// A script answers each request with the next of its handlers, the last for good, and notes when each came.
type script struct {
	handlers []http.HandlerFunc
	mu       sync.Mutex
	came     []time.Duration
	bodies   []string
	keys     []string
	began    time.Time
}

func newScript(handlers ...http.HandlerFunc) *script {
	return &script{handlers: handlers, began: time.Now()}
}

func (s *script) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	at := min(len(s.came), len(s.handlers)-1)
	s.came = append(s.came, time.Since(s.began))
	s.bodies = append(s.bodies, string(body))
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	s.mu.Unlock()
	s.handlers[at](w, r)
}

func refuseWith(code api.Code, wait time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		p := api.NewProblem(code, "")
		if wait > 0 {
			p = p.WithRetry(wait)
		}
		problem(w, p)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// example:begin

func TestRetries(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, c *mobileclient.Client) error { _, err := c.Me(ctx); return err }
	post := func(ctx context.Context, c *mobileclient.Client) error {
		_, err := c.CreateTask(ctx, api.TaskCreate{Title: "x"})
		return err
	}
	patch := func(ctx context.Context, c *mobileclient.Client) error {
		_, err := c.UpdateTask(ctx, taskID, api.TaskUpdate{Done: api.Some(true)})
		return err
	}
	remove := func(ctx context.Context, c *mobileclient.Client) error { return c.DeleteTask(ctx, taskID) }
	const never = -1
	tests := map[string]struct {
		call  func(context.Context, *mobileclient.Client) error
		first http.HandlerFunc
		// wait is the least time between first and second try; never: there is no second.
		wait time.Duration
	}{
		"GET, connection broke":     {get, hangUp, 200 * time.Millisecond},
		"DELETE, connection broke":  {remove, hangUp, 200 * time.Millisecond},
		"POST, connection broke":    {post, hangUp, 200 * time.Millisecond},
		"PATCH, connection broke":   {patch, hangUp, never},
		"GET, 503":                  {get, refuseWith(api.CodeUnavailable, 5*time.Second), 5 * time.Second},
		"GET, 502":                  {get, refuseWith(api.CodeUpstreamFailed, 0), 200 * time.Millisecond},
		"GET, 500":                  {get, refuseWith(api.CodeInternal, 0), never},
		"GET, 404":                  {get, refuseWith(api.CodeNotFound, 0), never},
		"POST, 503":                 {post, refuseWith(api.CodeUnavailable, 5*time.Second), 5 * time.Second},
		"POST, 500":                 {post, refuseWith(api.CodeInternal, 0), never},
		"POST, at work":             {post, refuseWith(api.CodeConflict, time.Second), time.Second},
		"POST, a real conflict":     {post, refuseWith(api.CodeConflict, 0), never},
		"PATCH, 503":                {patch, refuseWith(api.CodeUnavailable, 5*time.Second), never},
		"POST, 429":                 {post, refuseWith(api.CodeRateLimitExceeded, 3*time.Second), 3 * time.Second},
		"PATCH, 429":                {patch, refuseWith(api.CodeRateLimitExceeded, time.Second), time.Second},
		"GET, 429 over the cap":     {get, refuseWith(api.CodeRateLimitExceeded, 6*time.Second), never},
		"GET, 429 that never helps": {get, refuseWith(api.CodeRateLimitExceeded, 0), never},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScript(test.first, ok)
				client := pipeClient(t, s.serve)
				err := test.call(t.Context(), client)
				if test.wait == never {
					if err == nil || len(s.came) != 1 {
						t.Errorf("%d tries, %v", len(s.came), err)
					}
					return
				}
				if err != nil || len(s.came) != 2 {
					t.Fatalf("%d tries, %v", len(s.came), err)
				}
				if waited := s.came[1] - s.came[0]; waited < test.wait || waited > test.wait+2*time.Second {
					t.Errorf("waited %v, want %v and a little", waited, test.wait)
				}
				if s.bodies[0] != s.bodies[1] || s.keys[0] != s.keys[1] {
					t.Errorf("bodies %q or keys %q differ", s.bodies, s.keys)
				}
			})
		})
	}
}

// example:end

func TestA429IsRetriedOnceAndOthersTwice(t *testing.T) {
	t.Parallel()
	for code, want := range map[api.Code]int{api.CodeRateLimitExceeded: 2, api.CodeUpstreamFailed: 3} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(refuseWith(code, time.Second))
			_, err := pipeClient(t, s.serve).Me(t.Context())
			if e := asError(t, err); e.Code != code || len(s.came) != want {
				t.Errorf("%s: %d tries, want %d", code, len(s.came), want)
			}
		})
	}
}

func TestARetryThatWouldMissTheDeadlineIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuseWith(api.CodeRateLimitExceeded, 3*time.Second), ok)
		client := pipeClient(t, s.serve)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := client.Me(ctx)
		if e := asError(t, err); e.Details.RetryAfter != 3000 || time.Since(s.began) != 0 {
			t.Errorf("%+v after %v", e, time.Since(s.began))
		}
	})
}

func TestACancelledWaitEndsWithTheAnswerBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuseWith(api.CodeRateLimitExceeded, 3*time.Second), ok)
		client := pipeClient(t, s.serve)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := client.Me(ctx)
		if !errors.Is(err, mobileclient.ErrRateLimited) || time.Since(s.began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(s.began))
		}
	})
}

// TestRetriesHaveABudget sends many calls to a server that is down: first tries go on, retries end, and come back with
// success.
func TestRetriesHaveABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuseWith(api.CodeUpstreamFailed, 0))
		client := pipeClient(t, s.serve)
		for range 40 {
			_, err := client.Me(t.Context())
			asError(t, err)
		}
		if len(s.came) != 50 {
			t.Errorf("%d arrivals for 40 calls, want 50", len(s.came))
		}
		time.Sleep(time.Hour)
		s.handlers = []http.HandlerFunc{ok}
		for range 10 {
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.handlers, s.came = []http.HandlerFunc{refuseWith(api.CodeUpstreamFailed, 0)}, nil
		for range 5 {
			_, err := client.Me(t.Context())
			asError(t, err)
		}
		if len(s.came) != 6 {
			t.Errorf("%d arrivals for 5 calls after ten successes, want 6", len(s.came))
		}
	})
}

func TestARetryThatTheMirrorRefusesGivesTheAnswerBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuseWith(api.CodeUpstreamFailed, 0))
		client := pipeClient(t, s.serve, mobileclient.WithBudget("user", 1, time.Minute))
		_, err := client.Me(t.Context())
		if e := asError(t, err); e.Code != api.CodeUpstreamFailed || len(s.came) != 1 {
			t.Errorf("%d tries, %+v", len(s.came), e)
		}
	})
}

func TestRetriesCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hangUp)
		client := pipeClient(t, s.serve, mobileclient.WithRetryWait(0))
		_, err := client.Me(t.Context())
		if err == nil || !strings.Contains(err.Error(), "GET /api/v1/me") || len(s.came) != 1 {
			t.Errorf("%d tries, %v", len(s.came), err)
		}
	})
}
