package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing makes spans and sends them to a collector over OTLP. A nil Tracing makes none, and costs nothing.
type Tracing struct {
	provider    *sdktrace.TracerProvider
	tracer      trace.Tracer
	propagators propagation.TextMapPropagator
}

// NewTracing reads OpenTelemetry's own variables. It returns nil unless an OTLP endpoint is set, and an error that names
// the fix if they ask for what is not spoken here. It connects to nothing: a collector that is down loses spans alone,
// which is logged once an outage. The sampler, headers, timeouts and resource attributes are read by OpenTelemetry's
// library, from the process's environment.
func NewTracing(ctx context.Context, getenv func(string) string, log *slog.Logger) (*Tracing, error) {
	endpoint, err := tracesEndpoint(getenv)
	if endpoint == "" || err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("make exporter of traces: %w", err)
	}
	given, err := givenResource(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "server")), resource.WithAttributes(given.Attributes()...))
	if err != nil {
		return nil, fmt.Errorf("describe this process for traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(&quietExporter{SpanExporter: exporter, log: log}), sdktrace.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer("server"), propagators: propagation.TraceContext{}}, nil
}

// CheckTracing says which of OpenTelemetry's variables keep NewTracing from making one. It connects to nothing.
func CheckTracing(ctx context.Context, getenv func(string) string) error {
	endpoint, err := tracesEndpoint(getenv)
	if endpoint == "" || err != nil {
		return err
	}
	_, err = givenResource(ctx)
	return err
}

// givenResource is what OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say of this process.
func givenResource(ctx context.Context) (*resource.Resource, error) {
	given, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES cannot be read, write it as name=value,name=value: %w", err)
	}
	return given, nil
}

// tracesEndpoint is the URL that takes spans, or empty if nobody asked for traces.
func tracesEndpoint(getenv func(string) string) (string, error) {
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value := strings.TrimSpace(getenv(name)); value != "" {
				return name, value
			}
		}
		return "", ""
	}
	_, exporter := first("OTEL_TRACES_EXPORTER")
	if _, disabled := first("OTEL_SDK_DISABLED"); strings.EqualFold(disabled, "true") || exporter == "none" {
		return "", nil
	}
	if exporter != "" && exporter != "otlp" {
		return "", fmt.Errorf("OTEL_TRACES_EXPORTER=%s is not spoken here: set it to otlp, or to none", exporter)
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return "", fmt.Errorf("%s=%s is not spoken here: set it to http/protobuf, and the endpoint to the collector's HTTP port, usually 4318", name, protocol)
	}
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" && exporter == "otlp" {
		name, endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318" // OpenTelemetry's own default
	}
	if endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is no http(s) URL: write it like http://collector:4318", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// Handler makes a span of each request that h answers, health checks left out. A caller's own trace is continued only if
// trusts says that its direct peer may say such things; a stranger's is linked, and does not decide what is sampled.
func (t *Tracing) Handler(h http.Handler, trusts func(*http.Request) bool) http.Handler {
	if t == nil {
		return h
	}
	return otelhttp.NewHandler(h, "request",
		otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(t.propagators),
		otelhttp.WithPublicEndpointFn(func(r *http.Request) bool { return !trusts(r) }),
		otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path != "/livez" && r.URL.Path != "/readyz" }))
}

// Transport makes a span of each outgoing request that belongs to a trace, and passes the trace on.
func (t *Tracing) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return otelhttp.NewTransport(next, otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(t.propagators),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsValid() }))
}

// Store returns what makes a span of a call to a store: it is given the call's name, and returns what ends the span. A
// call that belongs to no trace, such as one on a timer, makes none. It is nil where t is, so that there is nothing to call.
func (t *Tracing) Store(system string) func(ctx context.Context, name string) (context.Context, func(error)) {
	if t == nil {
		return nil
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("db.system.name", system))}
	return func(ctx context.Context, name string) (context.Context, func(error)) {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			return ctx, func(error) {}
		}
		ctx, span := t.tracer.Start(ctx, name, options...) //nolint:spancheck // The caller ends it.
		return ctx, func(err error) { end(span, err) }     //nolint:spancheck // The caller ends it.
	}
}

func end(span trace.Span, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Close sends what was not sent yet, as long as ctx allows.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx) //nolint:wrapcheck // The caller says what it closed.
}

// Describe names the span of a request once it is known: by the route's template, never the path. The address is the one
// that is charged, not what a header claims.
func Describe(ctx context.Context, method, route, requestID, address string) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetName(methodLabel(method) + " " + route)
	span.SetAttributes(attribute.String("http.route", route), attribute.String("request.id", requestID), attribute.String("client.address", address))
}

// quietExporter logs that spans are lost when that begins, and when it ends.
type quietExporter struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans never fails: the library would print each failure past the log.
func (e *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch was := e.failing.Swap(err != nil); {
	case err != nil && !was:
		e.log.WarnContext(ctx, "traces are lost: their collector does not take them", "error", err)
	case err == nil && was:
		e.log.WarnContext(ctx, "traces are taken again")
	}
	return nil
}
