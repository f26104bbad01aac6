package mobileclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

type recorder struct{ events []mobileclient.Event }

func (r *recorder) Observe(_ context.Context, e mobileclient.Event) { r.events = append(r.events, e) }

func TestObserversSeeEveryAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen, log := &recorder{}, &bytes.Buffer{}
		slow := func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			w.Header().Set("X-Request-ID", "req-2")
			ok(w, r)
		}
		s := newScript(refuseWith(api.CodeUpstreamFailed, 0), slow)
		handler := slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})
		client := pipeClient(t, s.serve, mobileclient.WithBudget("tasks.export", 2, time.Minute),
			mobileclient.WithObserver(seen), mobileclient.WithObserver(mobileclient.LogTo(slog.New(handler))))
		for range 2 {
			stream, err := client.Export(t.Context())
			if err == nil {
				_ = stream.Close()
			}
		}
		want := []mobileclient.Event{
			{Try: 1, Status: 502, RequestID: "req-1"}, {Try: 2, Status: 200, Took: time.Second, RequestID: "req-2"}, {Try: 1, Status: 429},
		}
		if len(seen.events) != len(want) {
			t.Fatalf("saw %+v", seen.events)
		}
		for i, e := range seen.events {
			if e.Route != api.RouteTasksExport || e.Endpoint != "/api/v1/tasks/export" || e.Try != want[i].Try || e.Status != want[i].Status || e.Took != want[i].Took || e.RequestID != want[i].RequestID || e.Replayed {
				t.Errorf("event %d: %+v", i, e)
			}
			if e.Local() != (i == 2) || (e.Err == nil) != (i == 1) {
				t.Errorf("event %d: %+v", i, e)
			}
		}
		if lines := strings.Count(log.String(), "route=tasks.export"); lines != 3 || !strings.Contains(log.String(), "request_id=req-2") || strings.Contains(log.String(), "secret") {
			t.Errorf("logged:\n%s", log)
		}
	})
}
