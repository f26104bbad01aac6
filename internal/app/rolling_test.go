package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// example:begin

// A balancer is a proxy as people have them: it asks each server again and again whether it is ready, keeps connections
// open, and sends a request that found no connection to another server. What was sent is never sent again.
type balancer struct {
	URL string

	mu       sync.Mutex
	backends []*backend
	next     int
}

type backend struct {
	url   string
	ready atomic.Bool
}

func startBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"] },
		Transport: b,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, err)
		},
	})
	t.Cleanup(server.Close)
	b.URL = server.URL
	ctx, cancel := context.WithCancel(context.Background())
	var polls sync.WaitGroup
	polls.Go(func() { b.poll(ctx) })
	t.Cleanup(func() { cancel(); polls.Wait() })
	return b
}

func (b *balancer) add(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = append(b.backends, &backend{url: url})
}

// poll asks for readiness until ctx ends.
func (b *balancer) poll(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.mu.Lock()
		backends := b.backends
		b.mu.Unlock()
		for _, one := range backends {
			one.ready.Store(isReady(ctx, one.url))
		}
	}
}

// RoundTrip takes the servers in turn.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	err := errors.New("no server is ready")
	for _, one := range b.inTurn() {
		target, parseErr := url.Parse(one.url)
		if parseErr != nil {
			return nil, parseErr
		}
		r.URL.Scheme, r.URL.Host = target.Scheme, target.Host
		var resp *http.Response
		if resp, err = http.DefaultTransport.RoundTrip(r); err == nil {
			return resp, nil
		}
		if dial, ok := errors.AsType[*net.OpError](err); !ok || dial.Op != "dial" {
			return nil, err
		}
	}
	return nil, err
}

func (b *balancer) inTurn() []*backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	var ready []*backend
	for i := range b.backends {
		if one := b.backends[(i+b.next)%len(b.backends)]; one.ready.Load() {
			ready = append(ready, one)
		}
	}
	return ready
}

func (b *balancer) awaitReady(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(b.inTurn()) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("the balancer does not see %d servers ready", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Both of two servers are replaced, one after the other, under load: no request is lost.
func TestRollingRestartLosesNothing(t *testing.T) {
	t.Parallel()
	issuer, b := servertest.StartIssuer(t), startBalancer(t)
	env := servertest.Env{
		"DATABASE_URL": storetest.URL(t), "REDIS_URL": redistest.Start(t).URL + "?read_timeout=2s", "REPLICAS": "2",
		// Far longer than the balancer takes to notice, on a busy machine too.
		"SHUTDOWN_DRAIN": "4s",
	}
	start := func() *servertest.Server {
		s := servertest.Start(t, issuer.Env(), env)
		b.add(s.URL)
		return s
	}
	old := []*servertest.Server{start(), start()}
	b.awaitReady(t, 2)

	load := startLoad(t, b, issuer)
	for i, s := range old {
		load.awaitMore(t, 20)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		start()
		b.awaitReady(t, 2)
		load.awaitMore(t, 20*(i+1))
	}
	load.stop()
	created, late := load.created.Load(), load.late.Load()
	if got := count(t, env["DATABASE_URL"], "SELECT count(*) FROM tasks WHERE title = 'rolled'"); got < created || got > created+late {
		t.Errorf("%d tasks were created, and perhaps %d more, and %d are there", created, late, got)
	}
	if done := load.done.Load(); late > done/10 {
		t.Errorf("of %d requests the database was too late for %d", done, late)
	}
}

// A load is callers who read and write through the balancer; each stays within the budgets.
type load struct {
	done, created atomic.Int64
	// late are answers that say that the database took too long: on a machine too busy for its deadline that is no loss.
	late atomic.Int64
	stop func()
}

func startLoad(t *testing.T, b *balancer, issuer *servertest.Issuer) *load {
	t.Helper()
	l := &load{}
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// Another person every twenty requests, so that no budget is met.
				//nolint:contextcheck // A call that was begun is to end well, though no more are begun.
				l.call(t, b, issuer.Token(fmt.Sprintf("user-%d-%d", i, n/20), fmt.Sprintf("org-%d", i)), fmt.Sprintf("10.%d.%d.%d", i, n/20/250, n/20%250))
			}
		})
	}
	l.stop = func() { cancel(); callers.Wait() }
	t.Cleanup(l.stop)
	return l
}

// call reads, then writes, and wants both to succeed.
func (l *load) call(t *testing.T, b *balancer, token, from string) {
	t.Helper()
	client := &http.Client{Transport: servertest.From(from), Timeout: time.Minute}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r, err := http.NewRequestWithContext(context.Background(), method, b.URL+"/api/v1/tasks", strings.NewReader(`{"title":"rolled"}`))
		if err != nil {
			t.Error(err)
			return
		}
		if method == http.MethodGet {
			r.Body, r.ContentLength = http.NoBody, 0
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Errorf("%s: %v", method, err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusServiceUnavailable && !strings.Contains(string(body), "starting"):
			l.late.Add(1)
		case resp.StatusCode/100 != 2:
			t.Errorf("%s answered %d %s", method, resp.StatusCode, body)
		}
		if resp.StatusCode == http.StatusCreated {
			l.created.Add(1)
		}
		l.done.Add(1)
	}
}

// awaitMore waits for n more answers.
func (l *load) awaitMore(t *testing.T, n int) {
	t.Helper()
	want := l.done.Load() + int64(n)
	for deadline := time.Now().Add(time.Minute); l.done.Load() < want; {
		if time.Now().After(deadline) {
			t.Fatalf("the callers made %d requests, want %d", l.done.Load(), want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A request that is under way when the server is told to end gets its answer, and the stores are still there for it.
func TestRequestsUnderWayEnd(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		w.WriteHeader(http.StatusTeapot) // The local parser then reads the text.
	}))
	t.Cleanup(model.Close)
	s := servertest.Start(t, servertest.Env{"LLM_BASE_URL": model.URL, "LLM_MODEL": "any", "SHUTDOWN_DRAIN": "0s"})
	alice := s.Token("alice")
	answered := make(chan servertest.Response, 1)
	go func() {
		answered <- s.Do(servertest.Request{Method: http.MethodPost, Path: "/api/v1/tasks/parse", Token: alice, Body: `{"text":"milk"}`})
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	s.AwaitLog("shutting down")
	close(answer)
	want(t, <-answered, http.StatusOK)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// example:end

// While the server drains, each answer is its connection's last.
func TestDrainingClosesConnections(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Env{"SHUTDOWN_DRAIN": "2s"})
	if s.Do(servertest.Request{Path: "/api/v1/limits"}).Close {
		t.Error("a connection is closed though the server stays")
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	s.AwaitLog("shutting down")
	if !s.Do(servertest.Request{Path: "/api/v1/limits"}).Close {
		t.Error("a connection is kept though the server ends")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Two servers that start at once on an empty database migrate it once, and both serve.
func TestServersThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	database := storetest.EmptyURL(t)
	servers := servertest.StartTogether(t, 2, servertest.Env{"DATABASE_URL": database})
	for _, s := range servers {
		want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: s.Token("alice")}), http.StatusOK)
	}
	if twice := count(t, database, "SELECT count(*) FROM (SELECT FROM goose_db_version GROUP BY version_id HAVING count(*) > 1) v"); twice != 0 {
		t.Errorf("%d migrations ran twice", twice)
	}
}

// A server whose database is ahead of it goes on serving, and says so; one whose database is behind does not serve.
func TestReadyzSaysHowTheSchemaStands(t *testing.T) {
	t.Parallel()
	database := storetest.URL(t)
	s := servertest.Start(t, servertest.Env{"DATABASE_URL": database})
	for _, step := range []struct {
		change, says string
		status       int
	}{
		{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)", "newer build", http.StatusOK},
		{"DELETE FROM goose_db_version WHERE version_id IN (99999, 2)", "behind", http.StatusServiceUnavailable},
		{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, true)", "ready\n", http.StatusOK},
	} {
		execute(t, database, step.change)
		deadline := time.Now().Add(time.Minute)
		for ready := s.Do(servertest.Request{Path: "/readyz"}); ready.StatusCode != step.status || !strings.Contains(string(ready.Body), step.says); {
			if time.Now().After(deadline) {
				t.Fatalf("after %s readyz says %d %s", step.change, ready.StatusCode, ready.Body)
			}
			time.Sleep(20 * time.Millisecond)
			ready = s.Do(servertest.Request{Path: "/readyz"})
		}
	}
}

// count runs a query for one number.
func count(t *testing.T, database, query string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int64
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
