package mobileclient_test

import (
	"errors"
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

// TestCallsBearAKeyOfTheirOwn walks the contract: each call whose route takes a key bears a new one, the others none.
func TestCallsBearAKeyOfTheirOwn(t *testing.T) {
	t.Parallel()
	for id, call := range allCalls() {
		route, _ := api.RouteByID(id)
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			keys := map[string]bool{}
			client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				keys[r.Header.Get("Idempotency-Key")] = true
				answer(w, route, call.answer)
			})
			for range 2 {
				if _, err := call.call(t.Context(), client); err != nil {
					t.Fatal(err)
				}
			}
			if want := map[bool]int{true: 2, false: 1}[route.TakesKey]; len(keys) != want || keys[""] == route.TakesKey {
				t.Errorf("two calls bore the keys %v", keys)
			}
		})
	}
}

func TestAKeyOfTheCallers(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	client := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Idempotency-Key"))
		ok(w, r)
	})
	key := mobileclient.IdempotencyKey("order 7")
	if _, err := client.CreateTask(t.Context(), api.TaskCreate{Title: "x"}, key); err != nil || got.Load() != "order 7" {
		t.Errorf("sent %v, %v", got.Load(), err)
	}
	got.Store("")
	for _, bad := range []string{"", " x", "é", "a\nb", strings.Repeat("x", 256)} {
		_, err := client.CreateTask(t.Context(), api.TaskCreate{Title: "x"}, mobileclient.IdempotencyKey(bad))
		if err == nil || !strings.Contains(err.Error(), "idempotency key") || got.Load() != "" {
			t.Errorf("key %q: %v, sent %v", bad, err, got.Load())
		}
	}
	if _, err := client.Me(t.Context(), key); err == nil || !strings.Contains(err.Error(), "me.get takes no idempotency key") {
		t.Errorf("a call that takes none: %v", err)
	}
}

// TestAReplayCostsNoBudgetBehindTheEdge gives back what the server says that it did not charge.
func TestAReplayCostsNoBudgetBehindTheEdge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &recorder{}
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Idempotency-Replayed", "true")
			ok(w, r)
		}, mobileclient.WithBudget(mobileclient.EndpointBudget, 1000, time.Minute), mobileclient.WithObserver(seen))
		for range 50 {
			if _, err := client.CreateTask(t.Context(), api.TaskCreate{Title: "x"}, mobileclient.IdempotencyKey("k")); err != nil {
				t.Fatal(err)
			}
		}
		wantRemaining(t, client, api.RouteTasksCreate, 30)
		if len(seen.events) != 50 || !seen.events[49].Replayed {
			t.Errorf("observed %d attempts, the last %+v", len(seen.events), seen.events[len(seen.events)-1])
		}
		// A call that bears no key cannot have been answered before.
		mustGo(t, client)
		wantRemaining(t, client, api.RouteOrgGet, 99)
	})
}

// TestNobodySendsAPostAgainByItself has a server that ends a kept connection under a request that it has read. By itself
// net/http would send a POST with an Idempotency-Key again; the client does so, through the mirror.
func TestNobodySendsAPostAgainByItself(t *testing.T) {
	t.Parallel()
	for limit, wantArrivals := range map[int64]int64{30: 3, 2: 2} {
		synctest.Test(t, func(t *testing.T) {
			var arrivals atomic.Int64
			client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
				if arrivals.Add(1) == 2 {
					panic(http.ErrAbortHandler)
				}
				ok(w, r)
			}, mobileclient.WithBudget("tasks.write", limit, time.Minute))
			create := func() error {
				_, err := client.CreateTask(t.Context(), api.TaskCreate{Title: "x"})
				return err
			}
			if err := create(); err != nil {
				t.Fatal(err)
			}
			if err := create(); (err == nil) != (limit == 30) || errors.Is(err, mobileclient.ErrRateLimited) {
				t.Errorf("limit %d: %v", limit, err)
			}
			if got := arrivals.Load(); got != wantArrivals {
				t.Errorf("limit %d: %d arrivals, want %d", limit, got, wantArrivals)
			}
			wantRemaining(t, client, api.RouteTasksCreate, limit-wantArrivals)
		})
	}
}
