package telemetry_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"example.com/gatehouse/internal/telemetry"
)

func TestTracingIsConfiguredByItsOwnVariables(t *testing.T) {
	t.Parallel()
	const endpoint, exporter, protocol = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
	tests := []struct {
		name  string
		env   map[string]string
		on    bool
		fault string
	}{
		{name: "nothing set"},
		{name: "an endpoint", env: map[string]string{endpoint: "http://collector:4318"}, on: true},
		{name: "an endpoint for traces", env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector/t"}, on: true},
		{name: "the exporter alone", env: map[string]string{exporter: "otlp"}, on: true},
		{name: "no exporter", env: map[string]string{endpoint: "http://collector:4318", exporter: "none"}},
		{name: "disabled", env: map[string]string{endpoint: "http://collector:4318", "OTEL_SDK_DISABLED": "TRUE"}},
		{name: "the protocol", env: map[string]string{endpoint: "http://collector:4318", protocol: "http/protobuf"}, on: true},
		{name: "another exporter", env: map[string]string{exporter: "zipkin"}, fault: "OTEL_TRACES_EXPORTER=zipkin is not spoken here: set it to otlp"},
		{name: "another protocol", env: map[string]string{endpoint: "http://collector:4317", protocol: "grpc"}, fault: protocol + "=grpc is not spoken here: set it to http/protobuf"},
		{name: "no URL", env: map[string]string{endpoint: "collector:4318"}, fault: endpoint + " is no http(s) URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tracing, err := telemetry.NewTracing(t.Context(), func(name string) string { return test.env[name] }, slog.New(slog.DiscardHandler))
			if checked := telemetry.CheckTracing(t.Context(), func(name string) string { return test.env[name] }); fmt.Sprint(checked) != fmt.Sprint(err) {
				t.Errorf("the check says %v, and then %v", checked, err)
			}
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("the error is %v, want %q", err, test.fault)
				}
				return
			}
			if err != nil || (tracing != nil) != test.on {
				t.Fatalf("traces are on: %v, %v; want %v", tracing != nil, err, test.on)
			}
			if err := tracing.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What describes the process is read from its own environment, so this runs alone. Without traces nobody reads it.
func TestWhatTracesSayOfTheProcessIsChecked(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a,x")
	for _, endpoint := range []string{"", "http://collector:4318"} {
		getenv := func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}[name] }
		checked := telemetry.CheckTracing(t.Context(), getenv)
		if said := checked != nil && strings.Contains(checked.Error(), "OTEL_RESOURCE_ATTRIBUTES cannot be read, write it as name=value"); said != (endpoint != "") {
			t.Errorf("with the endpoint %q the check says: %v", endpoint, checked)
		}
		if _, err := telemetry.NewTracing(t.Context(), getenv, slog.New(slog.DiscardHandler)); fmt.Sprint(err) != fmt.Sprint(checked) {
			t.Errorf("with the endpoint %q the check says %v, and then %v", endpoint, checked, err)
		}
	}
}

// Where no traces are wanted nothing is put in anybody's way. It counts allocations, so it runs alone.
func TestNoTracingCostsNothing(t *testing.T) {
	var none *telemetry.Tracing
	if next := http.DefaultTransport; none.Transport(next) != next {
		t.Error("the transport is wrapped")
	}
	h := http.NotFoundHandler()
	if _, same := none.Handler(h, nil).(http.HandlerFunc); !same || none.Store("redis") != nil {
		t.Error("the handler or the store is wrapped")
	}
	if n := testing.AllocsPerRun(100, func() { telemetry.Describe(t.Context(), http.MethodGet, "/", "r-1", "192.0.2.1") }); n != 0 {
		t.Errorf("describing no span allocates %v times", n)
	}
}
