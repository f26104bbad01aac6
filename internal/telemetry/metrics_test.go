package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/gatehouse/internal/telemetry"
)

// scrape returns what Prometheus would read, a line a series.
func scrape(t *testing.T, m *telemetry.Metrics) []string {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	return strings.Split(recorder.Body.String(), "\n")
}

// expect checks that each line is among what is scraped.
func expect(t *testing.T, m *telemetry.Metrics, want ...string) {
	t.Helper()
	lines := map[string]bool{}
	for _, line := range scrape(t, m) {
		lines[line] = true
	}
	for _, line := range want {
		if !lines[line] {
			t.Errorf("missing: %s", line)
		}
	}
}

// series counts the lines that begin with a metric's name and a label.
func series(t *testing.T, m *telemetry.Metrics, name string) int {
	t.Helper()
	count := 0
	for _, line := range scrape(t, m) {
		if strings.HasPrefix(line, name+"{") {
			count++
		}
	}
	return count
}

func TestRouteMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	route := m.Route("/api/v1/tasks/{id}")
	route.Done(http.MethodGet, 200, 3*time.Millisecond)
	route.Done(http.MethodGet, 200, 2*time.Second)
	route.Done(http.MethodDelete, 404, 0)
	m.Route("unmatched").Done("BREW", 0, 0)
	m.InFlight.Inc()
	expect(t, m,
		`http_requests_total{method="GET",route="/api/v1/tasks/{id}",status="200"} 2`,
		`http_requests_total{method="DELETE",route="/api/v1/tasks/{id}",status="404"} 1`,
		`http_requests_total{method="other",route="unmatched",status="other"} 1`,
		`http_request_duration_seconds_bucket{route="/api/v1/tasks/{id}",le="0.0025"} 1`,
		`http_request_duration_seconds_bucket{route="/api/v1/tasks/{id}",le="0.005"} 2`,
		`http_request_duration_seconds_count{route="/api/v1/tasks/{id}"} 3`,
		`http_in_flight 1`,
	)
}

// TestClientsCannotMakeLabels: whatever a client sends, the series of a route are few.
func TestClientsCannotMakeLabels(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	route := m.Route("unmatched")
	for i := range 1000 {
		route.Done(fmt.Sprintf("METHOD%d", i), 1000+i, 0)
		route.Done(strings.ToLower(http.MethodGet), -i-1, 0)
		m.SignIn(fmt.Sprintf("outcome%d", i))
	}
	if n := series(t, m, "http_requests_total"); n != 1 {
		t.Errorf("http_requests_total has %d series, want 1", n)
	}
	if n := series(t, m, "auth_sign_ins_total"); n != 7 {
		t.Errorf("auth_sign_ins_total has %d series, want 7", n)
	}
	expect(t, m, `http_requests_total{method="other",route="unmatched",status="other"} 2000`, `auth_sign_ins_total{outcome="other"} 1000`)
}

func TestBudgetMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	budget := m.Budget("tasks.parse", "open")
	m.Budget("edge", "local")
	expect(t, m,
		`ratelimit_decisions_total{budget="edge",outcome="denied"} 0`,
		`ratelimit_degraded{budget="edge",mode="local"} 0`,
		`ratelimit_fail_open_total{budget="edge"} 0`,
	)
	for i, count := range []func(){budget.Allowed, budget.Denied, budget.WouldDeny, budget.FailedOpen, budget.CountedLocally, budget.FailedClosed} {
		for range i + 1 {
			count()
		}
	}
	budget.GivenBack(3)
	budget.GivenBack(-1)
	budget.Degraded(true)
	expect(t, m,
		`ratelimit_decisions_total{budget="tasks.parse",outcome="allowed"} 1`,
		`ratelimit_decisions_total{budget="tasks.parse",outcome="denied"} 2`,
		`ratelimit_decisions_total{budget="tasks.parse",outcome="would_deny"} 3`,
		`ratelimit_decisions_total{budget="tasks.parse",outcome="failed_open"} 4`,
		`ratelimit_decisions_total{budget="tasks.parse",outcome="counted_locally"} 5`,
		`ratelimit_decisions_total{budget="tasks.parse",outcome="failed_closed"} 6`,
		`ratelimit_fail_open_total{budget="tasks.parse"} 4`,
		`ratelimit_given_back_total{budget="tasks.parse"} 3`,
		`ratelimit_degraded{budget="tasks.parse",mode="open"} 1`,
	)
	budget.Degraded(false)
	expect(t, m, `ratelimit_degraded{budget="tasks.parse",mode="open"} 0`)
}

func TestStoreMetrics(t *testing.T) {
	t.Parallel()
	tests := map[string]error{
		"timeout":    fmt.Errorf("ask: %w", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}),
		"refused":    &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"connection": fmt.Errorf("ask: %w", io.EOF),
		"other":      errors.New("READONLY You can't write against a read only replica"),
	}
	for reason, err := range tests {
		m := telemetry.New()
		store := m.Store("redis")
		store.Asked(700*time.Microsecond, nil)
		store.Asked(40*time.Millisecond, err)
		store.Breaker(true)
		expect(t, m,
			`ratelimit_store_errors_total{reason="`+reason+`",store="redis"} 1`,
			`ratelimit_store_duration_seconds_bucket{store="redis",le="0.001"} 1`,
			`ratelimit_store_duration_seconds_count{store="redis"} 2`,
			`ratelimit_store_breaker_open{store="redis"} 1`,
		)
		if n := series(t, m, "ratelimit_store_errors_total"); n != 4 {
			t.Errorf("ratelimit_store_errors_total has %d series, want 4", n)
		}
	}
}

func TestReasonsOfStoreErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want string
	}{
		{context.DeadlineExceeded, "timeout"},
		{net.ErrClosed, "connection"},
		{io.ErrUnexpectedEOF, "connection"},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "connection"},
		{&net.DNSError{IsTimeout: true}, "timeout"},
		{&net.DNSError{IsNotFound: true}, "connection"},
		{context.Canceled, "other"},
	}
	for _, test := range tests {
		m := telemetry.New()
		m.Store("s").Asked(0, test.err)
		expect(t, m, `ratelimit_store_errors_total{reason="`+test.want+`",store="s"} 1`)
	}
}

func TestPlainCountersAndGauges(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	m.UnreadableAddresses.Inc()
	m.MemoryEvictions.Add(2)
	for range 3 {
		m.SessionLookups.Inc()
	}
	m.TokenChecks.Add(4)
	m.KeyFetches.Add(5)
	m.KeyFetchesSpared.Add(6)
	m.SignIn("ok")
	if err := m.WatchKnownCallers(func() int { return 7 }); err != nil {
		t.Fatal(err)
	}
	if err := m.Watch("store_connections", "Connections to the database.", func() float64 { return 8 }); err != nil {
		t.Fatal(err)
	}
	expect(t, m,
		"ratelimit_unreadable_addresses_total 1", "ratelimit_memory_evictions_total 2", "auth_session_lookups_total 3",
		"auth_token_checks_total 4", "auth_key_fetches_total 5", "auth_key_fetches_spared_total 6",
		`auth_sign_ins_total{outcome="ok"} 1`, `auth_sign_ins_total{outcome="denied"} 0`,
		"ratelimit_known_callers 7", "store_connections 8",
		"# HELP ratelimit_known_callers Credentials of returning callers that this process knows.",
	)
}

func TestWatchRefusesATakenName(t *testing.T) {
	t.Parallel()
	m := telemetry.New()
	zero := func() float64 { return 0 }
	if err := m.Watch("http_in_flight", "Another.", zero); err == nil || !strings.Contains(err.Error(), "http_in_flight") {
		t.Errorf("a taken name: %v", err)
	}
	if err := m.Watch("no-name\xff", "None.", zero); err == nil {
		t.Error("an invalid name is accepted")
	}
}

func TestRegistriesAreApart(t *testing.T) {
	t.Parallel()
	one, two := telemetry.New(), telemetry.New()
	one.SessionLookups.Inc()
	expect(t, one, "auth_session_lookups_total 1")
	expect(t, two, "auth_session_lookups_total 0")
}

func TestAdminHandler(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(telemetry.AdminHandler(telemetry.New()))
	t.Cleanup(server.Close)
	tests := []struct {
		method, path string
		status       int
		holds        string
	}{
		{http.MethodGet, "/metrics", 200, "go_goroutines"},
		{http.MethodGet, "/metrics", 200, "process_start_time_seconds"},
		{http.MethodGet, "/debug/pprof/", 200, "goroutine"},
		{http.MethodGet, "/debug/pprof/goroutine?debug=1", 200, "goroutine profile"},
		{http.MethodGet, "/debug/pprof/cmdline", 200, ""},
		{http.MethodGet, "/", 404, ""},
		{http.MethodPost, "/metrics", 405, ""},
	}
	for _, test := range tests {
		request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != test.status || !strings.Contains(string(body), test.holds) {
			t.Errorf("%s %s: %d, want %d with %q", test.method, test.path, response.StatusCode, test.status, test.holds)
		}
	}
}

func BenchmarkCounting(b *testing.B) {
	m := telemetry.New()
	route, budget := m.Route("/api/v1/tasks"), m.Budget("user", "open")
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			route.Done(http.MethodGet, 200, time.Millisecond)
		}
	})
	b.Run("verdict", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			budget.Allowed()
		}
	})
}
