//go:build soak

package app_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"example.com/gatehouse/api"
)

// How long each half of TestLoad takes: `make load` says.
var loadFor = flag.Duration("load-for", 15*time.Second, "how long people call, once alone and once beside a flood")

const (
	office    = "192.0.2.7" // the address that the flood and the people share
	flooders  = 8           // connections of the flood, each as fast as it is answered
	callEvery = 20 * time.Millisecond
)

// People of one office call, first alone and then while a flood of bad credentials comes from the same address, as fast as
// the server refuses it. Everybody who is known, and whoever comes anew from elsewhere, gets through; of the flood no more
// reaches authentication than the address has. How long they waited is printed and not judged: the flood takes its
// processor time from the same machine.
func TestLoad(t *testing.T) {
	s := startBenchServer(t)
	quiet, beside := &loadPhase{name: "alone"}, &loadPhase{name: "in a flood"}
	for i := range people { // Everybody becomes known, a few at a time, each from home.
		if status := s.call(t, http.MethodGet, "/api/v1/me", "", s.persons[i], fmt.Sprint("198.51.100.", i)); status != http.StatusOK {
			t.Fatalf("the first call of person %d is answered %d", i, status)
		}
	}
	quiet.run(t, s, 0)
	beside.run(t, s, flooders)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer out.Flush()
	fmt.Fprintf(out, "\nWHO\tWHEN\tANSWER\tCALLS\tA SECOND\tMEDIAN\tOF 100 THE LAST\n")
	for _, phase := range []*loadPhase{quiet, beside} {
		phase.print(out)
		phase.judge(t)
	}
}

// A loadPhase is what was answered while people called, by who called and with which status.
type loadPhase struct {
	name string
	mu   sync.Mutex
	took map[answer][]time.Duration
}

type answer struct {
	who    string
	status int
}

// Who calls.
const (
	known    = "people who are known, of the office"
	newcomer = "people who come anew, from elsewhere"
	flood    = "the flood, of the office"
)

func (p *loadPhase) run(t *testing.T, s *benchServer, flooders int) {
	t.Helper()
	p.took = map[answer][]time.Duration{}
	ctx, stop := context.WithTimeout(t.Context(), *loadFor)
	defer stop()
	var callers sync.WaitGroup
	var sent atomic.Int64
	for range flooders {
		callers.Go(func() {
			for ctx.Err() == nil {
				p.call(t, s, flood, fmt.Sprint("not.a.token-", sent.Add(1)), office) //nolint:contextcheck // What has begun is answered, and counted.
			}
		})
	}
	next := time.NewTicker(callEvery)
	defer next.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		callers.Go(func() { p.call(t, s, known, s.persons[i%people], office) })
		if i%10 == 0 {
			name := fmt.Sprint("newcomer-", p.name, i)
			token := s.issuer.Token(name, name)
			callers.Go(func() { p.call(t, s, newcomer, token, fmt.Sprintf("203.0.113.%d", i/10%200)) })
		}
		<-next.C
	}
	callers.Wait()
}

func (p *loadPhase) call(t *testing.T, s *benchServer, who, token, address string) {
	t.Helper()
	began := time.Now()
	a := answer{who, s.call(t, http.MethodGet, "/api/v1/me", "", token, address)}
	took := time.Since(began)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took[a] = append(p.took[a], took)
}

func (p *loadPhase) print(out *tabwriter.Writer) {
	for _, a := range slices.SortedFunc(maps.Keys(p.took), func(a, b answer) int {
		return slices.Compare([]string{a.who, fmt.Sprint(a.status)}, []string{b.who, fmt.Sprint(b.status)})
	}) {
		took := slices.Sorted(slices.Values(p.took[a]))
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%.0f\t%v\t%v\n", a.who, p.name, a.status, len(took), float64(len(took))/loadFor.Seconds(),
			took[len(took)/2].Round(100*time.Microsecond), took[len(took)*99/100].Round(100*time.Microsecond))
	}
}

func (p *loadPhase) judge(t *testing.T) {
	t.Helper()
	reached := 0
	for a, took := range p.took {
		switch {
		case a.who == flood && a.status == http.StatusUnauthorized:
			reached = len(took)
		case a.who == flood && a.status != http.StatusTooManyRequests, a.who != flood && a.status != http.StatusOK:
			t.Errorf("%s, %s: %d answers of %d", a.who, p.name, len(took), a.status)
		}
	}
	if limit := edgeWithin(t, *loadFor); reached > limit {
		t.Errorf("%d calls of the flood reached authentication, more than the %d that one address has in %v", reached, limit, *loadFor)
	}
}

// edgeWithin is how much one address has for strangers in that time, and a little longer: the last call may arrive late.
func edgeWithin(t *testing.T, span time.Duration) int {
	t.Helper()
	i := slices.IndexFunc(api.Budgets(), func(b api.Budget) bool { return b.Name == api.BudgetEdge })
	edge := api.Budgets()[i]
	return int(edge.Limit) * int(span/edge.Window+1)
}
