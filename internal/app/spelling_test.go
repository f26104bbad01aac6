package app_test

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// However a path is spelled, it is one route with one budget, or none; and no spelling makes a metric of its own.
func TestSpellingsOfAPath(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	carol := as{t, s, s.Token("carol")}
	left := func(budget string) int64 { return *status(t, limits(t, s, carol.token), budget).Remaining }
	for i, path := range []string{"/api/v1/me", "/api/v1/%6de"} {
		want(t, carol.do("GET", path, ""), http.StatusOK)
		if got := left(api.BudgetUser); got != int64(99-i) {
			t.Errorf("%s: %d of 100 left, want %d", path, got, 99-i)
		}
	}
	before := left(api.BudgetUser)
	want(t, carol.do("HEAD", "/api/v1/me", ""), http.StatusOK)
	want(t, carol.do("GET", "/api/v1/me", ""), http.StatusOK)
	if got := left(api.BudgetUser); got != before-2 {
		t.Errorf("HEAD and GET spent %d, want 2", before-got)
	}
	for i := range 20 {
		want(t, s.Do(servertest.Request{Path: fmt.Sprintf("/unknown/%d", i)}), http.StatusNotFound)
	}
	if got := s.Metric("http_requests_total", `route="unmatched"`); got < 20 {
		t.Errorf("%v requests are counted as unmatched", got)
	}
	if got := s.Metric("http_requests_total", `route="/unknown`); got != 0 {
		t.Errorf("%v requests are counted under their own path", got)
	}
}
