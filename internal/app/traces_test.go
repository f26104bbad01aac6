package app_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
)

// A traceCollector keeps the spans that it is sent.
type traceCollector struct {
	URL string

	mu    sync.Mutex
	spans []*traces.Span
}

func startCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("the collector was sent %s with %d bytes that are no spans", r.URL.Path, len(body))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// of returns the spans of a trace by their names.
func (c *traceCollector) of(trace string) map[string]*traces.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string]*traces.Span{}
	for _, span := range c.spans {
		if hex.EncodeToString(span.GetTraceId()) == trace {
			found[span.GetName()] = span
		}
	}
	return found
}

func (c *traceCollector) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, span := range c.spans {
		names = append(names, span.GetName())
	}
	return names
}

// Traces that began elsewhere.
const foreignTrace, secondTrace = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"

func traceHeader(trace string) http.Header {
	return http.Header{"Traceparent": {"00-" + trace + "-00f067aa0ba902b7-01"}}
}

// example:begin

// A request is one trace: its span is named by the route, and below it are what it asked PostgreSQL, Redis and the model.
func TestTraces(t *testing.T) {
	t.Parallel()
	c, issuer, passedOn := startCollector(t), servertest.StartIssuer(t), make(chan string, 1)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passedOn <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(model.Close)
	s := servertest.Start(t, issuer.Env(), servertest.Env{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "REDIS_URL": redistest.Start(t).URL + "?read_timeout=2s",
		"LLM_BASE_URL": model.URL, "LLM_MODEL": "any",
	})
	const id = "01900000-0000-7000-8000-000000000000"
	resp := s.Do(servertest.Request{Path: "/api/v1/tasks/" + id, Token: issuer.Token("ann", "acme"), Header: traceHeader(foreignTrace)})
	want(t, resp, http.StatusNotFound)
	parse := servertest.Request{Method: http.MethodPost, Path: "/api/v1/tasks/parse", Token: issuer.Token("ann", "acme"), Header: traceHeader(secondTrace), Body: `{"text":"milk"}`}
	want(t, s.Do(parse), http.StatusOK)
	if header := <-passedOn; !strings.HasPrefix(header, "00-"+secondTrace) {
		t.Errorf("the model was called with the trace %q", header)
	}
	want(t, s.Do(servertest.Request{Path: "/readyz"}), http.StatusOK)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	spans := c.of(foreignTrace)
	server := spans["GET /api/v1/tasks/{id}"]
	if server == nil {
		t.Fatalf("no span is named by the route; there are %q", c.names())
	}
	for _, name := range []string{"take", "Task", "UpsertMember"} {
		if span := spans[name]; span == nil || !slices.Equal(span.GetParentSpanId(), server.GetSpanId()) {
			t.Errorf("the span %s is %v, want one below the request's", name, span)
		}
	}
	second := c.of(secondTrace)
	if call, parse := second["HTTP POST"], second["POST /api/v1/tasks/parse"]; call == nil || parse == nil || !slices.Equal(call.GetParentSpanId(), parse.GetSpanId()) {
		t.Errorf("the call of the model is not below its request: %q", c.names())
	}
	for _, name := range c.names() {
		if strings.Contains(name, id) || strings.Contains(name, "readyz") {
			t.Errorf("a span is named %q", name)
		}
	}
	requests := s.Logs("request")
	if len(requests) == 0 || requests[0]["trace_id"] != foreignTrace || requests[0]["request_id"] != resp.Header.Get("X-Request-ID") {
		t.Errorf("the request's line is %v", requests)
	}
}

// example:end

// A stranger can neither continue a trace nor decide that one is kept.
func TestStrangersDoNotContinueTraces(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	s := servertest.Start(t, servertest.Env{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/v1/traces", "TRUSTED_PROXIES": ""})
	want(t, s.Do(servertest.Request{Path: "/api/v1/limits", Header: traceHeader(foreignTrace)}), http.StatusOK)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if spans := c.of(foreignTrace); len(spans) > 0 {
		t.Errorf("a stranger's trace was continued: %v", spans)
	}
	i := slices.IndexFunc(c.spans, func(span *traces.Span) bool { return span.GetName() == "GET /api/v1/limits" })
	if i < 0 || len(c.spans[i].GetLinks()) != 1 {
		t.Errorf("the stranger's trace is not linked: %v", c.names())
	}
}

// A collector that takes nothing costs traces, and one line.
func TestCollectorThatIsDown(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := servertest.Start(t, servertest.Env{"OTEL_EXPORTER_OTLP_ENDPOINT": gone.URL})
	for range 3 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/limits"}), http.StatusOK)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Logs("traces are lost: their collector does not take them")) + len(s.Logs("the last traces were not sent")); n != 1 && n != 2 {
		t.Errorf("the loss of traces was logged %d times", n)
	}
}
