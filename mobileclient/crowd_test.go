package mobileclient

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A crowdRow is what several clients of one person saw: the percentage of their requests that the server refused.
type crowdRow struct {
	clients                 int
	deaf, learning, sharing float64
	served, servedInShares  int
}

// crowdSizes are how many clients are tried, and by how much learning must lower what is refused.
func crowdSizes() map[int]float64 { return map[int]float64{2: 0.15, 4: 0.25, 10: 0.5} }

// TestCrowd has several clients of one person that do not know of each other: learning spares them most refusals, and
// sharing by agreement all, while what they may spend is spent. make crowd prints what docs/sdk.md says of it.
func TestCrowd(t *testing.T) {
	t.Parallel()
	said := crowdOfTheDocs(t)
	for _, k := range slices.Sorted(maps.Keys(crowdSizes())) {
		row := measureCrowd(t, k)
		_, _ = fmt.Fprintf(t.Output(), "| %d | %.0f %% | %.1f %% | %.0f |\n", row.clients, row.deaf, row.learning, row.sharing)
		row.check(t, said[k])
	}
}

func measureCrowd(t *testing.T, k int) crowdRow {
	t.Helper()
	deaf, _ := crowd(t, k, false)
	learning, served := crowd(t, k, true)
	sharing, inShares := crowd(t, k, true, WithShare(k))
	return crowdRow{k, 100 * deaf, 100 * learning, 100 * sharing, served, inShares}
}

// check holds the promise, and that the docs promise what is so: no more than a few percent above what is seen.
func (r crowdRow) check(t *testing.T, said crowdRow) {
	t.Helper()
	if most := crowdSizes()[r.clients]; r.learning > most*r.deaf {
		t.Errorf("%d clients: %.1f %% refused, %.1f %% without learning: more than %.0f %% of that", r.clients, r.learning, r.deaf, 100*most)
	}
	if r.sharing > 0 {
		t.Errorf("%d clients that share: %.1f %% refused", r.clients, r.sharing)
	}
	if r.served < 330 || r.servedInShares < 330 {
		t.Errorf("%d clients: %d served, %d in shares, of about 400", r.clients, r.served, r.servedInShares)
	}
	if r.learning > said.learning || said.learning > r.learning+5 || math.Abs(r.deaf-said.deaf) > 1 || said.sharing != 0 {
		t.Errorf("%d clients: docs/sdk.md says %v %% without learning, at most %v %% with: it is %.1f %% and %.1f %%; see make crowd",
			r.clients, said.deaf, said.learning, r.deaf, r.learning)
	}
}

// crowdOfTheDocs reads the table of docs/sdk.md.
func crowdOfTheDocs(t *testing.T) map[int]crowdRow {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "sdk.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int]crowdRow{}
	for line := range strings.Lines(string(page)) {
		var r crowdRow
		if n, _ := fmt.Sscanf(line, "| %d | %f %% | %f %% | %f |", &r.clients, &r.deaf, &r.learning, &r.sharing); n == 4 {
			rows[r.clients] = r
		}
	}
	return rows
}
