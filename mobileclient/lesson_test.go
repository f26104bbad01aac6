package mobileclient_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// said makes an answer that says of a budget what is left.
func said(next http.HandlerFunc, name string, quota, remaining int64, reset time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderRateLimitPolicy, api.FormatPolicies([]api.Policy{{Name: name, Quota: quota, Window: time.Minute}}))
		w.Header().Set(api.HeaderRateLimit, api.FormatServices([]api.Service{{Name: name, Remaining: remaining, Reset: reset, HasReset: reset > 0}}))
		next(w, r)
	}
}

// refuse is the server's 429 with its headers.
func refuse(wait time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderRetryAfter, api.RetryAfterValue(wait))
		problem(w, api.NewRateLimitProblem("n", wait))
	}
}

func quiet(t *testing.T, s *script, opts ...mobileclient.Option) *mobileclient.Client {
	t.Helper()
	return pipeClient(t, s.serve, append([]mobileclient.Option{mobileclient.WithRetryWait(0)}, opts...)...)
}

func mustGo(t *testing.T, c *mobileclient.Client) {
	t.Helper()
	if _, err := c.Me(t.Context()); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func mustNot(t *testing.T, c *mobileclient.Client, local bool) {
	t.Helper()
	_, err := c.Me(t.Context())
	if e := asError(t, err); !errors.Is(err, mobileclient.ErrRateLimited) || e.Local != local {
		t.Errorf("got %+v", e)
	}
}

// TestAfterA429NothingLeavesBeforeRetryAfterThenOneProbe sends at full speed meanwhile.
func TestAfterA429NothingLeavesBeforeRetryAfterThenOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second)
			ok(w, r)
		}
		s := newScript(refuse(20*time.Second), slow)
		client := quiet(t, s)
		mustNot(t, client, false)
		var workers sync.WaitGroup
		for range 5 {
			workers.Go(func() {
				for time.Since(s.began) < 30*time.Second {
					_, _ = client.Me(t.Context())
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		workers.Wait()
		if len(s.came) < 3 {
			t.Fatalf("only %d came", len(s.came))
		}
		if second := s.came[1]; second < 20*time.Second || second > 22100*time.Millisecond {
			t.Errorf("the probe came at %v", second)
		}
		if third := s.came[2]; third < s.came[1]+3*time.Second {
			t.Errorf("the third came at %v, before the probe at %v was answered", third, s.came[1])
		}
	})
}

func TestAProbeThatIsRefusedBlocksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuse(4*time.Second), refuse(4*time.Second), ok)
		client := quiet(t, s)
		mustNot(t, client, false)
		time.Sleep(3 * time.Second)
		mustNot(t, client, true)
		time.Sleep(2 * time.Second)
		mustNot(t, client, false)
		mustNot(t, client, true)
		time.Sleep(5 * time.Second)
		mustGo(t, client)
		mustGo(t, client)
	})
}

func TestALongBlockIsProbedAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(refuse(5*time.Hour), ok)
		client := quiet(t, s)
		mustNot(t, client, false)
		time.Sleep(59 * time.Second)
		mustNot(t, client, true)
		time.Sleep(4 * time.Second)
		mustGo(t, client)
	})
}

// example:begin

// TestABlockIsForTheBudgetsThatHaveNothingLeft lets lists go on while parses are refused.
func TestABlockIsForTheBudgetsThatHaveNothingLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(said(refuse(20*time.Second), "tasks.parse", 10, 0, 20*time.Second), ok)
		client := quiet(t, s)
		for _, local := range []bool{false, true} {
			_, err := client.Parse(t.Context(), api.ParseRequest{Text: "x"})
			if e := asError(t, err); e.Local != local || e.Code != api.CodeRateLimitExceeded {
				t.Errorf("got %+v", e)
			}
		}
		mustGo(t, client)
	})
}

// example:end

// TestWhatOthersSpentIsLearned has the server say that two are left, of which this client took none.
func TestWhatOthersSpentIsLearned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(said(ok, "user", 100, 2, 20*time.Second), ok)
		client := quiet(t, s)
		mustGo(t, client)
		wantRemaining(t, client, api.RouteMeGet, 2)
		// The answers to these say nothing new, so that of the first stands.
		s.mu.Lock()
		s.handlers = []http.HandlerFunc{said(ok, "user", 100, 2, 20*time.Second), said(ok, "user", 100, 1, 20*time.Second), said(ok, "user", 100, 0, 20*time.Second), ok}
		s.mu.Unlock()
		mustGo(t, client)
		mustGo(t, client)
		mustNot(t, client, true)
		time.Sleep(19 * time.Second)
		mustNot(t, client, true)
		time.Sleep(4 * time.Second)
		mustGo(t, client)
		mustGo(t, client)
	})
}

// TestALoneClientLearnsNothing has the server count what the client sent, and nothing more.
func TestALoneClientLearnsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		served := int64(0)
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			served++
			said(ok, "user", 100, 100-served, time.Second)(w, r)
		}, mobileclient.WithRetryWait(0))
		for range 100 {
			mustGo(t, client)
		}
		mustNot(t, client, true)
	})
}

// TestTheOrganisationIsLearnedOf is a budget that the client does not count.
func TestTheOrganisationIsLearnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(said(ok, "org", 600, 0, 3*time.Second), said(ok, "org", 600, 5, 1*time.Second))
		client := quiet(t, s)
		mustGo(t, client)
		mustNot(t, client, true)
		time.Sleep(2 * time.Second)
		mustNot(t, client, true)
		time.Sleep(2 * time.Second)
		mustGo(t, client)
		mustGo(t, client)
	})
}

// TestALowerPolicyIsHeeded lowers the limit, then raises it again, and never above the client's own.
func TestALowerPolicyIsHeeded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ quota, left int64 }{{3, 2}, {100, 99}, {500, 99}} {
		synctest.Test(t, func(t *testing.T) {
			client := quiet(t, newScript(said(ok, "user", test.quota, test.quota-1, time.Second)))
			mustGo(t, client)
			wantRemaining(t, client, api.RouteMeGet, test.left)
		})
	}
}

// TestAnOlderAnswerTeachesNothing has the answer to the first request come after that to the second.
func TestAnOlderAnswerTeachesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := said(ok, "user", 100, 1, 30*time.Second)
		s := newScript(ok, func(w http.ResponseWriter, r *http.Request) { time.Sleep(5 * time.Second); late(w, r) }, said(ok, "user", 100, 50, time.Second))
		client := quiet(t, s)
		mustGo(t, client)
		var first sync.WaitGroup
		first.Go(func() { mustGo(t, client) })
		synctest.Wait()
		mustGo(t, client)
		first.Wait()
		if got := remaining(t, client, api.RouteMeGet); got < 40 {
			t.Errorf("%d remain: the older answer was believed", got)
		}
	})
}

func TestANewTokenDropsBlocksAndKeepsSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(ok, refuse(30*time.Second), ok)
		client := quiet(t, s, mobileclient.WithTokenSource(rolling("alice", 10*time.Second)))
		mustGo(t, client)
		mustNot(t, client, false)
		mustNot(t, client, true)
		time.Sleep(10 * time.Second)
		mustGo(t, client)
		wantRemaining(t, client, api.RouteMeGet, 97)
	})
}

// TestAHostileHeaderHoldsNothingUpForLong sends numbers that no server should.
func TestAHostileHeaderHoldsNothingUpForLong(t *testing.T) {
	t.Parallel()
	for _, header := range []string{`"user";r=0;t=999999999999`, `"user";r=-1`, `"user"`, `;;;`, `"user";r=0`} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(api.HeaderRateLimit, header)
				w.Header().Set(api.HeaderRateLimitPolicy, `"user";q=0;w=8000000000`)
				ok(w, r)
			}, ok)
			client := quiet(t, s)
			mustGo(t, client)
			time.Sleep(63 * time.Second)
			mustGo(t, client)
		})
	}
}

func limitsBody(limit, remaining int64, window time.Duration, enforced bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"caller":{"kind":"user","userId":"u"},"budgets":[
			{"name":"user","per":"user","limit":%d,"windowSeconds":%d,"remaining":%d,"resetMs":20000,"enforced":%t},
			{"name":"unheard.of","per":"user","limit":1,"windowSeconds":60,"remaining":0,"resetMs":20000,"enforced":true}]}`,
			limit, int(window.Seconds()), remaining, enforced)
	}
}

func TestFetchLimitsTeaches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limit, remaining int64
		window           time.Duration
		raise, shadow    bool
		want             int64
	}{
		"a lower limit":                            {limit: 30, remaining: 29, window: time.Minute, want: 29},
		"a higher limit, not asked for":            {limit: 300, remaining: 299, window: time.Minute, want: 99},
		"a higher limit, asked for":                {limit: 300, remaining: 299, window: time.Minute, raise: true, want: 100},
		"what others spent":                        {limit: 100, remaining: 10, window: time.Minute, want: 10},
		"a higher limit of a longer window":        {limit: 300, remaining: 299, window: time.Hour, raise: true, want: 4},
		"a limit that is not enforced":             {limit: 30, remaining: 0, window: time.Minute, shadow: true, want: 99},
		"one that is not enforced, raised":         {limit: 30, remaining: 0, window: time.Minute, shadow: true, raise: true, want: 100},
		"a higher limit, and others have spent it": {limit: 300, remaining: 7, window: time.Minute, raise: true, want: 7},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := []mobileclient.Option{mobileclient.WithBudget("edge.caller", 1000, time.Minute)}
				if test.raise {
					opts = append(opts, mobileclient.WithServerLimits())
				}
				client := quiet(t, newScript(ok, limitsBody(test.limit, test.remaining, test.window, !test.shadow), ok), opts...)
				mustGo(t, client)
				if _, err := client.FetchLimits(t.Context()); err != nil {
					t.Fatal(err)
				}
				// The endpoint that was called has 99 left in any case, so another shows what is left of the user's budget.
				wantRemaining(t, client, api.RouteOrgGet, test.want)
			})
		})
	}
}

func TestAShareIsAPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithShare(4), mobileclient.WithRetryWait(0))
		wantRemaining(t, client, api.RouteMeGet, 25)
		for range 25 {
			mustGo(t, client)
		}
		mustNot(t, client, true)
		// example:begin
		_, err := client.Parse(t.Context(), api.ParseRequest{Text: "x"})
		if e := asError(t, err); !e.Local || e.Details.RetryAfter != 0 || e.Details.Budgets[0] != api.BudgetUser {
			t.Errorf("a budget of 3 shared by 4: %+v", e)
		}
		// example:end
	})
}

// example:begin

func TestAllTasks(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":  `{"items":[{"id":"1"},{"id":"2"}],"nextCursor":"a"}`,
		"a": `{"items":[{"id":"3"}],"nextCursor":"b"}`,
		"b": `{"items":[]}`,
		"x": `{"items":[{"id":"9"}],"nextCursor":"y"}`,
		"y": `{"items":[],"nextCursor":"x"}`,
	}
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("cursor")])
	})
	tests := map[string]struct {
		from, want string
		stop       int
		fails      bool
	}{
		"all":               {want: "123"},
		"some":              {want: "12", stop: 2},
		"from a cursor":     {from: "a", want: "3"},
		"cursors in a ring": {from: "x", want: "9", fails: true},
	}
	for name, test := range tests {
		got, failed := "", false
		for task, err := range client.AllTasks(t.Context(), mobileclient.TaskQuery{Cursor: test.from}) {
			failed = failed || err != nil
			if got += task.ID; len(got) == test.stop {
				break
			}
		}
		if got != test.want || failed != test.fails {
			t.Errorf("%s: got %q, failed %t", name, got, failed)
		}
	}
}

// example:end

// TestFetchLimitsTeachesAsTheFirstCallToo asks before anything else was sent, when the client does not know yet who it is.
func TestFetchLimitsTeachesAsTheFirstCallToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := quiet(t, newScript(limitsBody(100, 10, time.Minute, true)))
		wantRemaining(t, client, api.RouteMeGet, 100) // The contract's, of somebody who has spent nothing.
		if _, err := client.FetchLimits(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantRemaining(t, client, api.RouteOrgGet, 10)
	})
}
