package mobileclient_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

func TestWaitingIsFirstInFirstOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithBudget("user", 2, time.Minute), mobileclient.WithWait(time.Hour))
		began := time.Now()
		var mu sync.Mutex
		var order []int
		var at []time.Duration
		var calls sync.WaitGroup
		for i := range 7 {
			calls.Go(func() {
				if _, err := client.Me(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				at = append(at, time.Since(began))
			})
			time.Sleep(time.Second)
		}
		calls.Wait()
		if !slices.IsSorted(order) {
			t.Errorf("came in the order %v", order)
		}
		// Two at once, then two more each window after those before them.
		want := []time.Duration{0, time.Second, held, held + time.Second, 2 * held, 2*held + time.Second, 3 * held}
		if !slices.Equal(at, want) {
			t.Errorf("came at %v, want %v", at, want)
		}
	})
}

// example:begin

// TestThoseWhoWaitForOneBudgetDoNotHoldUpOthers has many wait for parses while lists go on.
func TestThoseWhoWaitForOneBudgetDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithWait(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		var parses sync.WaitGroup
		for range 50 {
			parses.Go(func() { _, _ = client.Parse(ctx, api.ParseRequest{Text: "x"}) })
		}
		synctest.Wait()
		began := time.Now()
		for range 80 {
			if _, err := client.Tasks(t.Context(), mobileclient.TaskQuery{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the lists waited %v", took)
		}
		cancel()
		parses.Wait()
	})
}

// example:end

func TestACallThatWouldWaitTooLongIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		patience, deadline time.Duration
	}{
		"beyond the longest wait": {patience: 30 * time.Second, deadline: time.Hour},
		"beyond the deadline":     {patience: time.Hour, deadline: 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := pipeClient(t, ok, mobileclient.WithBudget("user", 1, time.Minute), mobileclient.WithWait(test.patience))
				if _, err := client.Me(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				began := time.Now()
				_, err := client.Me(ctx)
				if e := asError(t, err); !e.Local || e.Wait() != held || time.Since(began) != 0 {
					t.Errorf("%+v after %v", e, time.Since(began))
				}
			})
		})
	}
}

// TestTheQueueCounts refuses the second of two waiters at once, because the first will have the next slot.
func TestTheQueueCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithBudget("user", 2, time.Minute), mobileclient.WithWait(80*time.Second))
		for range 2 {
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := client.Me(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := client.Me(ctx)
		if e := asError(t, err); e.Wait() != 30*time.Second+600*time.Millisecond {
			t.Errorf("the second in line was told to wait %v", e.Wait())
		}
		waiting.Wait()
	})
}

func TestACancelledWaiterLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, ok, mobileclient.WithBudget("user", 1, time.Minute), mobileclient.WithWait(time.Hour))
		if _, err := client.Me(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := client.Me(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		began := time.Now()
		if _, err := client.Me(t.Context()); err != nil || time.Since(began) != held-time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestAWaiterGoesWhenASlotIsGivenBack wakes one who waits for a slot whose time nobody knew.
func TestAWaiterGoesWhenASlotIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := serve(t, http.HandlerFunc(ok))
		dial := base.DialContext
		var dials atomic.Int64
		base.DialContext = hangingFirst(&dials, dial)
		client := clientOver(t, base, mobileclient.WithBudget("user", 1, time.Minute), mobileclient.WithWait(2*time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var first sync.WaitGroup
		first.Go(func() { _, _ = client.Me(ctx) })
		synctest.Wait()
		began := time.Now()
		if _, err := client.Me(t.Context()); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		first.Wait()
	})
}

// TestTheFirstRequestOfAPersonGoesAlone starts many at once: one leaves, the others follow its answer.
func TestTheFirstRequestOfAPersonGoesAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var arrivals, atOnce atomic.Int64
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			arrivals.Add(1)
			time.Sleep(2 * time.Second)
			ok(w, r)
		})
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() {
				if _, err := client.Me(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		for _, step := range []struct {
			after time.Duration
			want  int64
		}{{time.Second, 1}, {time.Second + 1, 10}} {
			time.Sleep(step.after)
			atOnce.Store(arrivals.Load())
			if got := atOnce.Load(); got != step.want {
				t.Errorf("after %v more: %d arrivals, want %d", step.after, got, step.want)
			}
		}
		calls.Wait()
	})
}

// example:begin

func TestASlowFirstRequestDoesNotHoldUpTheOthersForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				time.Sleep(20 * time.Second)
			}
			ok(w, r)
		})
		var slow sync.WaitGroup
		slow.Go(func() { _, _ = client.Parse(t.Context(), api.ParseRequest{Text: "x"}) })
		synctest.Wait()
		began := time.Now()
		if _, err := client.Me(t.Context()); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		slow.Wait()
	})
}

// example:end
