package mobileclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// held is how long the default guard holds a slot of a minute's budget after the answer.
const held = time.Minute + time.Minute/100

func ok(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// remaining is what a client says is left of a route's budgets.
func remaining(t *testing.T, c *mobileclient.Client, endpoint string) int64 {
	t.Helper()
	s, err := c.Limits(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return s.Remaining
}

func wantRemaining(t *testing.T, c *mobileclient.Client, endpoint string, want int64) {
	t.Helper()
	if got := remaining(t, c, endpoint); got != want {
		t.Errorf("remaining of %s: got %d, want %d", endpoint, got, want)
	}
}

// example:begin

func TestASlotIsHeldFromAcquisitionToAnswerPlusWindowPlusGuard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Second)
			ok(w, r)
		}, mobileclient.WithBudget("tasks.export", 1, time.Minute))
		go func() {
			if _, err := client.Export(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		wantRemaining(t, client, api.RouteTasksExport, 0) // From acquisition.
		time.Sleep(20 * time.Second)
		synctest.Wait()
		s, err := client.Limits(api.RouteTasksExport)
		if err != nil || s.Allowed || s.RetryAfter != held || len(s.Budgets) != 1 || s.Budgets[0] != "tasks.export" {
			t.Errorf("at the answer: %+v, %v", s, err)
		}
		time.Sleep(held - 1)
		wantRemaining(t, client, api.RouteTasksExport, 0)
		time.Sleep(time.Nanosecond)
		wantRemaining(t, client, api.RouteTasksExport, 1)
	})
}

func TestARequestIsLetPassByAllOrTakesFromNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithBudget("tasks.parse", 2, time.Minute), mobileclient.WithBudget("tasks.parse.burst", 100, time.Second))
		for range 20 {
			_, err := client.Parse(t.Context(), api.ParseRequest{Text: "x"})
			if err != nil && !errors.Is(err, mobileclient.ErrRateLimited) {
				t.Fatal(err)
			}
		}
		wantRemaining(t, client, api.RouteTasksParse, 0)
		wantRemaining(t, client, api.RouteTasksList, 98)
		wantRemaining(t, client, "POST /api/v1/tasks", 30)
	})
}

// example:end

func TestACallWithoutAConnectionGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("network is down")
		var broken atomic.Bool
		broken.Store(true)
		base := serve(t, http.HandlerFunc(ok))
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if broken.Load() {
				return nil, down
			}
			return dial(ctx, network, address)
		}
		client := clientOver(t, base, mobileclient.WithBudget("user", 1, time.Minute))
		for range 5 {
			if _, err := client.Me(t.Context()); !errors.Is(err, down) {
				t.Fatalf("got %v", err)
			}
		}
		wantRemaining(t, client, api.RouteMeGet, 1)
		broken.Store(false)
		if _, err := client.Me(t.Context()); err != nil {
			t.Error(err)
		}
		wantRemaining(t, client, api.RouteMeGet, 0)
	})
}

func TestACallCancelledBeforeItHasAConnectionGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, http.HandlerFunc(ok))
		base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		client := clientOver(t, base)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Me(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wantRemaining(t, client, api.RouteMeGet, 100)
		if _, err := client.Me(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wantRemaining(t, client, api.RouteMeGet, 100)
	})
}

func TestAnAnswerGivenUpOnHoldsTheSlotForTheLateGraceToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, mobileclient.WithLateGrace(7*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Me(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(7*time.Second + held - 1)
		wantRemaining(t, client, api.RouteMeGet, 99)
		time.Sleep(time.Nanosecond)
		wantRemaining(t, client, api.RouteMeGet, 100)
	})
}

// TestABrokenConnectionIsTriedAgainThroughTheMirror lets the server close a kept connection under a request that it
// has read: by itself net/http would send a GET again without asking.
func TestABrokenConnectionIsTriedAgainThroughTheMirror(t *testing.T) {
	t.Parallel()
	for limit, wantArrivals := range map[int64]int64{100: 3, 2: 2} {
		synctest.Test(t, func(t *testing.T) {
			var arrivals atomic.Int64
			client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
				if arrivals.Add(1) == 2 {
					panic(http.ErrAbortHandler)
				}
				ok(w, r)
			}, mobileclient.WithBudget("user", limit, time.Minute))
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := client.Me(t.Context())
			if (err == nil) != (limit == 100) || errors.Is(err, mobileclient.ErrRateLimited) {
				t.Errorf("limit %d: %v", limit, err)
			}
			if got := arrivals.Load(); got != wantArrivals {
				t.Errorf("limit %d: %d arrivals, want %d", limit, got, wantArrivals)
			}
		})
	}
}

// TestAReplayBelowTheClientTakesAnotherSlot is for transports that send again by themselves all the same.
func TestAReplayBelowTheClientTakesAnotherSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := clientOver(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			trace.GetConn("server.example:80")
			trace.GotConn(httptrace.GotConnInfo{}) // A kept connection that is found dead before anything is written.
			for range 2 {
				trace.GotConn(httptrace.GotConnInfo{})
				trace.WroteHeaders()
			}
			rec := httptest.NewRecorder()
			ok(rec, r)
			return rec.Result(), nil
		}))
		if _, err := client.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantRemaining(t, client, api.RouteMeGet, 98)
		time.Sleep(held)
		wantRemaining(t, client, api.RouteMeGet, 99) // The one that got no answer may still come.
		time.Sleep(10 * time.Second)
		wantRemaining(t, client, api.RouteMeGet, 100)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestATransportThatReportsNothingIsTakenToHaveSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		client := clientOver(t, roundTripper(func(*http.Request) (*http.Response, error) { return nil, lost }), mobileclient.WithRetryWait(0))
		if _, err := client.Me(t.Context()); !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
		time.Sleep(held)
		wantRemaining(t, client, api.RouteMeGet, 99)
		time.Sleep(10 * time.Second)
		wantRemaining(t, client, api.RouteMeGet, 100)
	})
}

func TestAPanicOfTheTransportLeaksNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := clientOver(t, roundTripper(func(*http.Request) (*http.Response, error) { panic("boom") }))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = client.Me(t.Context())
		}()
		wantRemaining(t, client, api.RouteMeGet, 99)
		time.Sleep(held + 10*time.Second)
		wantRemaining(t, client, api.RouteMeGet, 100)
	})
}

func TestAFollowedRedirectIsCountedAndAnUnfollowedOneIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/me" {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				return
			}
			ok(w, r)
		}))
		client := clientOver(t, base)
		if _, err := client.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "/elsewhere") {
			t.Errorf("got %v", err)
		}
		follow := &http.Client{Transport: base, CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		client = clientOver(t, nil, mobileclient.WithHTTPClient(follow), mobileclient.WithBudget("user", 3, time.Minute))
		if _, err := client.Me(t.Context()); err != nil {
			t.Error(err)
		}
		wantRemaining(t, client, api.RouteMeGet, 1)
		if _, err := client.Me(t.Context()); !errors.Is(err, mobileclient.ErrRateLimited) {
			t.Errorf("the redirect of the second call left: %v", err)
		}
	})
}

func TestSkipRateLimitIsNotHeldBackButCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithBudget("user", 2, time.Minute))
		began := time.Now()
		for range 5 {
			if _, err := client.Me(t.Context(), mobileclient.SkipRateLimit()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		s, err := client.Limits(api.RouteMeGet)
		// Of five at 0 … 4 s, four must have left before one more fits.
		if want := 3*time.Second + held - time.Since(began); err != nil || s.RetryAfter != want {
			t.Errorf("got %+v, %v, want %v", s, err, want)
		}
		if _, err := client.Me(t.Context()); !errors.Is(err, mobileclient.ErrRateLimited) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheUserAgentIsSent(t *testing.T) {
	t.Parallel()
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.UserAgent(); got != "app/7" {
			t.Errorf("User-Agent is %q", got)
		}
		ok(w, r)
	}, mobileclient.WithUserAgent("app/7"))
	if _, err := client.Me(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOverHTTP2 shows that a GET has no body there either, though its end comes after its headers.
func TestOverHTTP2(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.ProtoMajor != 2 || len(body) > 0 || err != nil || r.Header.Get("Content-Length") != "" {
			t.Errorf("came %s with body %q (%v)", r.Proto, body, err)
		}
		ok(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client, err := mobileclient.New(server.URL, mobileclient.WithHTTPClient(server.Client()), mobileclient.WithTokenSource(mobileclient.StaticToken("secret")))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := client.Me(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wantRemaining(t, client, api.RouteMeGet, 97)
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// hangingFirst makes the first connection never come.
func hangingFirst(dials *atomic.Int64, dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	}
}
