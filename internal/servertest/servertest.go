// Package servertest starts the whole program on free ports, with a database of its own, and talks to it over HTTP.
package servertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/gatehouse/internal/app"
	"example.com/gatehouse/internal/devidp"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// startTimeout is far more than a start takes, on a machine that runs the race detector beside other tests.
const startTimeout = time.Minute

// A Server is a running program.
type Server struct {
	// URL is where it serves, AdminURL where its metrics are.
	URL, AdminURL string

	t    testing.TB
	logs *logs
	stop func() error
}

// An Env overrides settings; an empty value unsets one.
type Env map[string]string

// Start runs the program in development, with a fresh database, counters in memory and the development issuer. The test
// is the trusted proxy, so a request may choose its address with X-Forwarded-For; see From. It ends with the test.
func Start(t testing.TB, overrides ...Env) *Server {
	t.Helper()
	s := StartBeforeDiscovery(t, overrides...)
	s.AwaitLog("issuer discovered")
	return s
}

// StartBeforeDiscovery is Start that does not wait for the issuer, which may be down.
func StartBeforeDiscovery(t testing.TB, overrides ...Env) *Server {
	t.Helper()
	env := settings(t, overrides)
	s := begin(t, env)
	s.awaitReady(env)
	return s
}

// StartTogether is Start for several programs at once, with the same settings.
func StartTogether(t testing.TB, n int, overrides ...Env) []*Server {
	t.Helper()
	env := settings(t, overrides)
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = begin(t, env)
	}
	for _, s := range servers {
		s.awaitReady(env)
	}
	return servers
}

// begin runs the program, and does not wait for it.
func begin(t testing.TB, env Env) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{t: t, logs: newLogs()}
	done := make(chan error, 1)
	go func() {
		done <- app.Run(ctx, []string{"serve"}, func(name string) string { return env[name] }, s.logs)
		s.logs.close()
	}()
	s.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("the server ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("its log:\n%s", s.logs.tail())
		}
	})
	return s
}

func settings(t testing.TB, overrides []Env) Env {
	t.Helper()
	env := Env{
		"APP_ENV": "development", "HTTP_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "127.0.0.1:0", "LOG_FORMAT": "json",
		"TRUSTED_PROXIES": "127.0.0.1",
	}
	for _, o := range overrides {
		maps.Copy(env, o)
	}
	if env["DATABASE_URL"] == "" {
		env["DATABASE_URL"] = NewDatabase(t)
	}
	return env
}

// signingKey is the development issuer's, made once for all tests: making one takes long on a busy machine.
var signingKey = sync.OnceValues(devidp.NewKey) //nolint:gochecknoglobals // It is never written after that.

// NewDatabase returns the address of a database of the test's own, in which the development issuer has its key.
func NewDatabase(t testing.TB) string {
	t.Helper()
	url := storetest.URL(t)
	s, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.IDPKeys(t.Context(), devidp.KeyRules(signingKey)); err != nil {
		t.Fatal(err)
	}
	return url
}

// StartTwo runs the program twice on one database and behind one public name, as replicas are.
func StartTwo(t testing.TB, overrides ...Env) (one, two *Server) {
	t.Helper()
	shared := Env{"DATABASE_URL": NewDatabase(t)}
	one = Start(t, append([]Env{shared}, overrides...)...)
	shared["PUBLIC_URL"] = one.URL
	return one, Start(t, append([]Env{shared}, overrides...)...)
}

func (s *Server) awaitReady(env Env) {
	s.t.Helper()
	listening := s.AwaitLog("listening")
	s.AwaitLog("ready")
	s.URL, s.AdminURL = fmt.Sprint(listening["url"]), "http://"+fmt.Sprint(listening["admin"])
	if env["PUBLIC_URL"] != "" { // It may lead to another server. Cookies are the host's, whatever the port.
		s.URL = "http://" + strings.Replace(fmt.Sprint(listening["addr"]), "127.0.0.1", "localhost", 1)
	}
}

// Stop ends the program as a signal would, and returns what it returned.
func (s *Server) Stop() error { return s.stop() }

// Logs returns the log records so far with that message.
func (s *Server) Logs(message string) []map[string]any { return s.logs.with(message) }

// CountLogs counts the log lines so far that contain the text.
func (s *Server) CountLogs(text string) int { return s.logs.count(text) }

// AwaitLog waits for a log record with that message and returns the first.
func (s *Server) AwaitLog(message string) map[string]any {
	s.t.Helper()
	record, ok := s.logs.await(message)
	if !ok {
		s.t.Fatalf("the server did not log %q; its log:\n%s", message, s.logs.tail())
	}
	return record
}

// Token returns an access token of a seeded person. It comes from an address that no test uses, so that signing in
// spends nobody's budget.
func (s *Server) Token(person string) string {
	s.t.Helper()
	client := &http.Client{Transport: From(s.fresh()), Timeout: startTimeout}
	token, err := devidp.FetchToken(context.Background(), client, s.URL, person)
	if err != nil {
		s.t.Fatalf("get a token for %s: %v", person, err)
	}
	return token
}

// fresh returns an address of 198.18.0.0/15, the range for benchmarks, a new one each time.
func (s *Server) fresh() string {
	n := s.logs.next()
	return fmt.Sprintf("198.18.%d.%d", n/250%250, n%250+1)
}

// From is a transport that comes from an address.
type From string

// RoundTrip adds the header of a proxy.
func (f From) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", string(f))
	return http.DefaultTransport.RoundTrip(r)
}

// A Response is an answer with its body read.
type Response struct {
	*http.Response
	Body []byte
}

// JSON decodes the body into a value of type T.
func JSON[T any](t testing.TB, r Response) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("%s %s answered %d with %q, which is no %T: %v", r.Request.Method, r.Request.URL, r.StatusCode, r.Body, v, err)
	}
	return v
}

// A Request is one to send. Its zero values are GET, no credential, no body, and the test's own address.
type Request struct {
	Method, Path, From, Token, Body string
	Header                          http.Header
}

// Do sends a request and reads the answer. Redirects are not followed.
func (s *Server) Do(req Request) Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), req.Method, s.URL+req.Path, strings.NewReader(req.Body))
	if err != nil {
		s.t.Fatal(err)
	}
	maps.Copy(r.Header, req.Header)
	if req.From != "" {
		r.Header.Set("X-Forwarded-For", req.From)
	}
	if req.Token != "" {
		r.Header.Set("Authorization", "Bearer "+req.Token)
	}
	if req.Body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", req.Method, req.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("read answer of %s %s: %v", req.Method, req.Path, err)
	}
	return Response{resp, body}
}

// Metric returns the sum of a metric's series whose labels contain every one of the given `name="value"` pairs.
func (s *Server) Metric(name string, labels ...string) float64 {
	s.t.Helper()
	resp, err := http.Get(s.AdminURL + "/metrics") //nolint:noctx // A test ends with its server.
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	sum := 0.0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := series(lines.Text(), name, labels); ok {
			sum += value
		}
	}
	return sum
}

func series(line, name string, labels []string) (float64, bool) {
	rest, ok := strings.CutPrefix(line, name)
	if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
		return 0, false
	}
	for _, label := range labels {
		if !strings.Contains(rest, label) {
			return 0, false
		}
	}
	value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
	return value, err == nil
}

// logs keeps what the program writes and lets tests wait for a record.
type logs struct {
	mu      sync.Mutex
	changed *sync.Cond
	partial []byte
	lines   [][]byte
	closed  bool
	counter int
}

func newLogs() *logs {
	l := &logs{}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Write takes whole lines.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			break
		}
		l.lines = append(l.lines, bytes.Clone(line))
		l.partial = rest
	}
	l.changed.Broadcast()
	return len(p), nil
}

func (l *logs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

func (l *logs) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counter++
	return l.counter
}

func (l *logs) with(message string) []map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(message)
}

func (l *logs) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if bytes.Contains(line, []byte(text)) {
			n++
		}
	}
	return n
}

func (l *logs) find(message string) []map[string]any {
	var found []map[string]any
	for _, line := range l.lines {
		var record map[string]any
		if json.Unmarshal(line, &record) == nil && record["msg"] == message {
			found = append(found, record)
		}
	}
	return found
}

// await waits until there is such a record, the program has ended, or it takes too long.
func (l *logs) await(message string) (map[string]any, bool) {
	late := false
	timer := time.AfterFunc(startTimeout, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		l.changed.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if found := l.find(message); len(found) > 0 {
			return found[0], true
		}
		if l.closed || late {
			return nil, false
		}
		l.changed.Wait()
	}
}

func (l *logs) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 40
	return string(bytes.Join(l.lines[max(0, len(l.lines)-most):], []byte("\n")))
}
