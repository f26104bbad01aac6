package httpapi

import (
	"net/http"
	"testing"

	"example.com/gatehouse/api"
)

// A budget that is metered and has no meter is said by New, in words, and must not end the start before it.
func TestMaxCost(t *testing.T) {
	t.Parallel()
	meters := Meters{"metered": func(r *http.Request) int64 { return -7 * r.ContentLength }}
	for want, b := range map[int64]api.Budget{7: {Name: "metered", Metered: true}, 1: {Name: "forgotten", Metered: true}} {
		if got := meters.MaxCost(b); got != want {
			t.Errorf("%s costs up to %d, want %d", b.Name, got, want)
		}
	}
	if got := meters.MaxCost(api.Budget{Name: "metered"}); got != 1 {
		t.Errorf("what is not metered costs up to %d, want 1", got)
	}
}
