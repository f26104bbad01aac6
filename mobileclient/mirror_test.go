package mobileclient

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
)

// TestOnlyEmptyWindowsAreForgotten asks for thousands of endpoints, and for many people, while some windows are spent: the
// map stays small, and what counts stays counted.
func TestOnlyEmptyWindowsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMirror(defaultMirror())
		parse := newCatalogue()[api.RouteTasksParse]
		alice := &credential{identity: "alice", accepted: true}
		for range 3 {
			w := m.enter(context.Background(), parse, alice)
			w.ticket.noteConnected()
			w.ticket.answered(&http.Response{StatusCode: http.StatusOK, Header: http.Header{}})
		}
		flying := m.enter(context.Background(), newCatalogue()[api.RouteTasksExport], alice)
		for i := range 20_000 {
			cred := &credential{identity: fmt.Sprint("somebody ", i%500)}
			m.look(call{endpoint: fmt.Sprint("/things/", i)}, cred)
			if i%100 == 0 {
				m.look(call{endpoint: fmt.Sprint("/things/", i)}, alice)
			}
		}
		if m.windows > 3*sweepFrom || len(m.people) > 3*sweepFrom {
			t.Errorf("%d windows of %d people are kept", m.windows, len(m.people))
		}
		if s := m.look(parse, alice); s.Remaining != 0 || s.Allowed {
			t.Errorf("what was spent is forgotten: %+v", s)
		}
		time.Sleep(time.Hour)
		for i := range 2 * sweepFrom {
			m.look(call{endpoint: fmt.Sprint("/others/", i)}, alice)
		}
		if s := m.look(newCatalogue()[api.RouteTasksExport], alice); s.Remaining != 4 {
			t.Errorf("a call under way is forgotten: %+v", s)
		}
		flying.ticket.failed(true)
	})
}
