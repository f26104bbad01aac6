package httpapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/clientip"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
	"example.com/gatehouse/internal/telemetry"
)

// bench is a server with one public route, which charges one budget of 5, and a handler of the test's.
type bench struct {
	*Server
	log     *bytes.Buffer
	handler http.Handler
}

const own = "admin.threaddump"

// newBench is one whose limiter never refuses, so that a test of a handler sees the handler.
func newBench(t *testing.T, h handler) bench {
	t.Helper()
	budget := ownBudget(ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 5, Window: time.Minute})
	return newBenchOf(t, ratelimittest.Unlimited(t, budget), h)
}

// newCountingBench is one that refuses what is over the limit of 5 a minute, on a clock that the test moves.
func newCountingBench(t *testing.T, h handler) (bench, *ratelimittest.Clock) {
	t.Helper()
	limiter, clock := ratelimittest.OnClock(t, ownBudget(ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 5, Window: time.Minute}))
	return newBenchOf(t, limiter, h), clock
}

func ownBudget(limit ratelimit.Limit) ratelimit.Budget {
	return ratelimit.Budget{Name: own, Limit: limit, Store: "memory", OnFailure: ratelimit.Open, Enforce: true, MaxCost: 1}
}

func newBenchOf(t testing.TB, limiter *ratelimit.Limiter, h handler) bench {
	t.Helper()
	addresses, err := clientip.New(clientip.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	budget, _ := api.BudgetNamed(own)
	s := &Server{
		Config: Config{
			Limiter: limiter, Addresses: addresses, Log: telemetry.NewLogger(log, slog.LevelInfo, "json", RequestID), BodyTimeout: 100 * time.Millisecond,
			PublicURL: &url.URL{Scheme: "http", Host: "localhost:8080"},
		},
		budgets: map[string]api.Budget{own: budget},
	}
	if err := s.protectOrigin(); err != nil {
		t.Fatal(err)
	}
	quietGin()
	engine := gin.New()
	engine.POST("/", s.serve(api.Route{ID: "test", Method: http.MethodPost, Path: "/", Class: api.ClassPublic, Budgets: []string{own}}, h))
	return bench{s, log, s.identify(s.boundBody(s.observe(s.recover(s.capBody(engine)))))}
}

func (b bench) post(body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w
}

func (b bench) left(t *testing.T) int64 {
	t.Helper()
	d := b.Limiter.Look(t.Context(), b.ask(own, payer{}, 0))
	return d.Results[0].Verdict.Remaining
}

// What the server's own fault cost is given back; what the caller's fault cost is not, nor what money was spent on.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		handler handler
		status  int
		left    int64
	}{
		"success":           {func(c *call) error { return c.noContent() }, 204, 4},
		"the caller's":      {func(*call) error { return notFound() }, 404, 4},
		"the server's":      {func(*call) error { return errors.New("disk full") }, 500, 5},
		"unavailable":       {func(*call) error { return failure{code: api.CodeUnavailable} }, 503, 5},
		"panic":             {func(*call) error { panic("oh") }, 500, 5},
		"the model's money": {func(c *call) error { c.keep = true; return failure{code: api.CodeUpstreamFailed} }, 502, 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := newCountingBench(t, c.handler)
			if got := b.post("").Code; got != c.status {
				t.Errorf("answered %d, want %d", got, c.status)
			}
			if got := b.left(t); got != c.left {
				t.Errorf("%d of 5 left, want %d", got, c.left)
			}
		})
	}
}

// A panic and an error are one 500 in the one format. The cause is in the log under the request's id, and not in the body.
func TestInternalErrorsTellNothing(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]handler{
		"panic": func(*call) error { panic("secret detail") },
		"error": func(*call) error { return errors.New("secret detail") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, h)
			w := b.post("")
			var p api.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if w.Code != 500 || p.Code != api.CodeInternal || p.RequestID == "" || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("answered %d %s", w.Code, w.Body)
			}
			if log := b.log.String(); !strings.Contains(log, "secret detail") || !strings.Contains(log, p.RequestID) || !strings.Contains(log, `"level":"ERROR"`) {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// All that went wrong is in the log, also what went wrong before.
func TestCausesAreJoined(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *call) error {
		c.note(errors.New("the model timed out"))
		c.note(nil)
		c.note(errors.New("the answer was not kept"))
		return c.noContent()
	})
	b.post("")
	if log := b.log.String(); !strings.Contains(log, "the model timed out") || !strings.Contains(log, "the answer was not kept") {
		t.Errorf("logged %s", log)
	}
}

// An answer that has begun and cannot be ended is cut off, so that nobody takes it for whole. The log says why.
func TestAnswersAreCutOff(t *testing.T) {
	t.Parallel()
	begin := func(c *call) {
		c.gin.Header("Content-Length", "20000")
		c.gin.String(http.StatusOK, strings.Repeat("x", 10_000))
	}
	for name, h := range map[string]handler{
		"by its handler": func(c *call) error { begin(c); c.note(errors.New("disk full")); panic(http.ErrAbortHandler) },
		"by a panic":     func(c *call) error { begin(c); panic("disk full") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, h)
			server := httptest.NewServer(b.handler)
			resp, err := http.Post(server.URL, "text/plain", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("the answer of %d bytes looks whole", len(body))
			}
			resp.Body.Close()
			server.Close() // It waits until all is logged.
			var line map[string]any
			if err := json.Unmarshal(bytes.TrimSpace(b.log.Bytes()[bytes.LastIndexByte(bytes.TrimSpace(b.log.Bytes()), '\n')+1:]), &line); err != nil {
				t.Fatal(err)
			}
			if line["msg"] != "request" || line["level"] != "ERROR" || line["cut_off"] != true || !strings.Contains(fmt.Sprint(line["cause"]), "disk full") {
				t.Errorf("logged %v", line)
			}
		})
	}
}

func read(c *call) error {
	data, err := io.ReadAll(c.request().Body)
	if err != nil {
		return bodyFailure(err)
	}
	c.gin.String(http.StatusOK, "%d", len(data))
	return nil
}

// A body that does not arrive in time is 408.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newBench(t, read).handler)
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\npart of it")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p api.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusRequestTimeout || p.Code != api.CodeRequestTimeout {
		t.Errorf("answered %d %+v, %v", resp.StatusCode, p, err)
	}
}

// The deadline of the body ends with the body: work that takes longer is not taken for a caller who hung up.
func TestBodyDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	var b bench
	b = newBench(t, func(c *call) error {
		if _, err := io.ReadAll(c.request().Body); err != nil {
			return err
		}
		select {
		case <-c.context().Done():
			return errors.New("the request was cancelled")
		case <-time.After(3 * b.BodyTimeout):
			return c.noContent()
		}
	})
	server := httptest.NewServer(b.handler)
	t.Cleanup(server.Close)
	resp, err := http.Post(server.URL, "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("answered %d", resp.StatusCode)
	}
}

// BenchmarkRequest compares the way of a request that is charged with gin's own: with the limiter alone, and with
// everything that stands around it.
func BenchmarkRequest(b *testing.B) {
	plain := gin.New()
	plain.POST("/", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	limit := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: ratelimit.MaxLimit, Refill: ratelimit.MaxLimit}
	limiter, _ := ratelimittest.OnClock(b, ownBudget(limit))
	whole := newBenchOf(b, limiter, func(c *call) error { return c.noContent() })
	whole.Log = slog.New(slog.DiscardHandler)
	logged := newBenchOf(b, limiter, func(c *call) error { return c.noContent() })
	logged.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // What writing a line costs is measured.
	for _, way := range []struct {
		name    string
		handler http.Handler
	}{
		{"gin", plain}, {"gin and limiter", limited(b, limiter)}, {"whole", whole.handler}, {"whole with log", logged.handler},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				way.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
			}
		})
	}
}

// limited is gin with nothing but the limiter and its headers before the handler.
func limited(b *testing.B, limiter *ratelimit.Limiter) http.Handler {
	b.Helper()
	s := newBenchOf(b, limiter, nil)
	engine := gin.New()
	engine.POST("/", func(c *gin.Context) {
		address := s.Addresses.Resolve(c.Request.RemoteAddr, nil)
		d := s.Limiter.Decide(c.Request.Context(), s.ask(own, payer{address: address.Key}, 1))
		setQuotaHeaders(c.Writer.Header(), &d)
		if d.Outcome != ratelimit.Allowed {
			c.AbortWithStatus(http.StatusTooManyRequests)
		}
	}, func(c *gin.Context) { c.Status(http.StatusNoContent) })
	return engine
}

func TestCursors(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"!", "eA", "LTEueA", "OTk5OTk5OTk5OTk5OTk5OTk5OS54"} {
		if at, err := readCursor(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, at)
		}
	}
}

func TestShadows(t *testing.T) {
	t.Parallel()
	cases := []struct {
		literal, template string
		want              bool
	}{
		{"/a/parse", "/a/{id}", true},
		{"/a/{id}", "/a/{id}", false},
		{"/a/parse", "/a/parse", false},
		{"/a/parse", "/b/{id}", false},
		{"/a", "/a/{id}", false},
	}
	for _, c := range cases {
		if got := shadows(c.literal, c.template); got != c.want {
			t.Errorf("shadows(%s, %s) = %v", c.literal, c.template, got)
		}
	}
}

// The order is what the design says, step by step; each line is one kind of step and says why it stands there.
func TestOrder(t *testing.T) {
	t.Parallel()
	want := "identify boundBody observe recover secure pages cors limitEdge capBody checkOrigin authenticate authorise replay charge"
	var got []string
	for i, step := range (&Server{Config: Config{PublicURL: &url.URL{}}}).order() {
		if (step.wrap == nil) == (step.check == nil) || step.why == "" {
			t.Errorf("step %d is not one step with a reason", i+1)
		}
		got = append(got, stepName(step))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("the order is\n%s, want\n%s", strings.Join(got, " "), want)
	}
}

// stepName is the name of the step's method.
func stepName(s step) string {
	f := reflect.ValueOf(s.check)
	if s.wrap != nil {
		f = reflect.ValueOf(s.wrap)
	}
	name := runtime.FuncForPC(f.Pointer()).Name()
	return strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "-fm")
}

// The rate-limit headers are kept under the names that net/http looks for.
func TestCanonicalHeaders(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]string{api.HeaderRateLimitPolicy: canonicalRateLimitPolicy, api.HeaderRateLimit: canonicalRateLimit} {
		if want := http.CanonicalHeaderKey(name); kept != want {
			t.Errorf("%s is kept as %s, want %s", name, kept, want)
		}
	}
}
