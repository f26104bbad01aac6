package app_test

import (
	"net/http"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// With EDGE_STORE=redis the edge is one for all servers: an address has its limit once, a stranger's charge is still moved to
// the caller, and without Redis each server counts by itself.
func TestEdgeInRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	issuer := servertest.StartIssuer(t)
	env := servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s", "EDGE_STORE": "redis", "DATABASE_URL": storetest.URL(t)}
	servers := []*servertest.Server{servertest.Start(t, issuer.Env(), env), servertest.Start(t, issuer.Env(), env)}
	const address = "203.0.113.95"
	left := func() int64 {
		resp := servers[0].Do(servertest.Request{Path: "/api/v1/limits", From: address})
		want(t, resp, http.StatusOK)
		b := status(t, servertest.JSON[api.Limits](t, resp).Budgets, api.BudgetEdge)
		if b.Store != "redis" || b.Degraded {
			t.Errorf("the edge is counted as %+v", b)
		}
		return *b.Remaining
	}
	before := left()
	for i, s := range servers {
		token := issuer.Token("edge-"+string(rune('a'+i)), "org")
		resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: token, From: address})
		want(t, resp, http.StatusOK)
		if got := resp.Header.Get("RateLimit-Policy"); got != edgeCaller+", "+user+", "+org {
			t.Errorf("charged %s", got)
		}
	}
	if after := left(); after != before-1 {
		t.Errorf("%d were left, then %d: the address paid for callers who turned out to be good", before, after)
	}
	refused := 0
	for i := range 110 {
		if servers[i%2].Do(servertest.Request{Path: "/api/v1/me", Token: "not.a.token", From: address}).StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("two servers together refused %d of 110", refused)
	}
	redis.Kill()
	const other = "203.0.113.96"
	for range 20 {
		want(t, servers[0].Do(servertest.Request{Path: "/api/v1/me", Token: "not.a.token", From: other}), http.StatusUnauthorized)
	}
	spray(t, servers[0], other)
	want(t, servers[1].Do(servertest.Request{Path: "/api/v1/me", Token: "not.a.token", From: other}), http.StatusUnauthorized)
}
