package mobileclient

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"example.com/gatehouse/api"
)

// deaf hides from the client what it could learn from: the headers, and that an answer is a refusal.
type deaf struct{ base http.RoundTripper }

func (d deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Header = http.Header{"Content-Type": {"application/json"}}
	if resp.StatusCode != http.StatusOK {
		resp.StatusCode = http.StatusInternalServerError
	}
	return resp, nil
}

// crowd runs k clients of one person side by side and returns the share of their requests that the server refused.
func crowd(t *testing.T, k int, learning bool, opts ...Option) (refused float64, served int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.store.Close()
		var clients sync.WaitGroup
		for i := range k {
			opts := append([]Option{WithRetryWait(0)}, opts...)
			if !learning {
				opts = append(opts, WithHTTPClient(&http.Client{Transport: deaf{n}}))
			}
			client := simulatedClient(t, n, opts...)
			clients.Go(func() {
				load{seed: uint64(i), minutes: 4, workers: 4, one: api.RouteMeGet}.run(t, client)
			})
		}
		clients.Wait()
		n.mu.Lock()
		defer n.mu.Unlock()
		refused, served = float64(n.denied)/float64(n.denied+n.served), n.served
	})
	return refused, served
}

// TestSeveralClientsLearnOfEachOther holds what is promised of clients that do not know of each other: refusals are far
// fewer than without learning, and what they may spend is spent.
func TestSeveralClientsLearnOfEachOther(t *testing.T) {
	t.Parallel()
	for k, most := range map[int]float64{2: 0.15, 4: 0.25, 10: 0.5} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			without, _ := crowd(t, k, false)
			with, served := crowd(t, k, true)
			t.Logf("%d clients: %.1f %% refused without learning, %.1f %% with, %d served", k, 100*without, 100*with, served)
			if with > most*without {
				t.Errorf("%.1f %% refused, %.1f %% without learning: more than %.0f %% of that", 100*with, 100*without, 100*most)
			}
			if served < 330 {
				t.Errorf("only %d served of about 400", served)
			}
		})
	}
}

func TestClientsThatShareAreNeverRefused(t *testing.T) {
	t.Parallel()
	for _, k := range []int{2, 4, 10} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			if refused, served := crowd(t, k, true, WithShare(k)); refused > 0 || served < 330 {
				t.Errorf("%.1f %% refused, %d served", 100*refused, served)
			}
		})
	}
}
