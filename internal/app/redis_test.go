package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
)

// Redis is killed under load: no request fails, the outage is logged once and counted, and budgets apply again once it is back.
func TestRedisKilledUnderLoad(t *testing.T) {
	issuer := servertest.StartIssuer(t)
	redis := redistest.Start(t)
	// The deadline is long: a machine too busy to answer in time would be an outage of its own, before the one that is tested.
	s := servertest.Start(t, issuer.Env(), servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s"})
	const callers, each = 50, 20
	tokens := make([]string, callers)
	for i := range tokens {
		tokens[i] = issuer.Token(fmt.Sprint("user-", i), fmt.Sprint("org-", i))
		want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: tokens[i], From: fmt.Sprintf("10.1.0.%d", i)}), http.StatusOK)
	}
	var failed, answered atomic.Int64
	var wg sync.WaitGroup
	halfway := sync.OnceFunc(redis.Kill)
	for _, token := range tokens {
		wg.Go(func() {
			for range each {
				if resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: token}); resp.StatusCode != http.StatusOK {
					failed.Add(1)
					t.Logf("%d %s", resp.StatusCode, resp.Body)
				}
				if answered.Add(1) > callers*each/2 {
					halfway()
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), callers*each)
	}
	for _, budget := range []string{"user", "org"} {
		if n := len(outages(s, "limiter store fails", budget)); n != 1 {
			t.Errorf("the outage of the budget %s was logged %d times, want once", budget, n)
		}
	}
	failedOpen := s.Metric("ratelimit_fail_open_total", `budget="user"`)
	if failedOpen == 0 {
		t.Error("no metric counts what was let through")
	}
	if policy := s.Do(servertest.Request{Path: "/api/v1/me", Token: tokens[0]}).Header.Get("RateLimit-Policy"); strings.Contains(policy, `"user"`) {
		t.Errorf("a budget that is failing open is stated: %s", policy)
	}
	redis.Restart()
	exhaust(t, s, issuer.Token("somebody", "org-somebody"))
	ended := awaitEnd(t, s, issuer)
	if len(ended) != 1 || ended[0]["decided_by_mode"].(float64) < 1 {
		t.Errorf("the end of the outage was logged as %v", ended)
	}
}

// awaitEnd goes on asking, as people do, until the end of the outage is logged: it is over once the store has answered
// for a while without failing.
func awaitEnd(t *testing.T, s *servertest.Server, issuer *servertest.Issuer) []map[string]any {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for i := 0; time.Now().Before(deadline); i++ {
		if ended := outages(s, "limiter store is back", "user"); len(ended) > 0 {
			return ended
		}
		s.Do(servertest.Request{Path: "/api/v1/me", Token: issuer.Token(fmt.Sprint("later-", i), "org-later"), From: fmt.Sprintf("10.2.%d.%d", i/250, i%250)})
	}
	return nil
}

func outages(s *servertest.Server, message, budget string) []map[string]any {
	var found []map[string]any
	for _, record := range s.Logs(message) {
		if record["budget"] == budget {
			found = append(found, record)
		}
	}
	return found
}

// exhaust calls until the user budget refuses, which shows that it is counted again.
func exhaust(t *testing.T, s *servertest.Server, token string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if s.Do(servertest.Request{Path: "/api/v1/me", Token: token}).StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Fatal("the user budget does not apply again")
}

// The log says of a broken counter whose it is, in the words by which it is reset, and where it is stored.
func TestBrokenCounter(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	redis := redistest.Start(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s"})
	admin, token := newAdministrator(t, s, issuer, "root"), issuer.Token("alice", "acme")
	alice, direct := me(t, s, token), redis.Client(t)
	keys, err := direct.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if err := direct.Set(t.Context(), key, "foreign", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	me(t, s, token)
	lines := map[any]map[string]any{}
	for _, line := range s.Logs("a stored counter cannot be read; reset it") {
		lines[line["budget"]] = line
	}
	for budget, id := range map[string]string{"user": alice.ID, "org": alice.Organisation.ID} {
		line := lines[budget]
		stored, _, _ := strings.Cut(fmt.Sprint(line["error"]), ": ")
		if line["key"] != id || !slices.Contains(keys, stored) {
			t.Errorf("the broken counter of %s is logged as %v, and stored as one of %v", budget, line, keys)
			continue
		}
		admin.must("DELETE", fmt.Sprintf("/limits/%v/%v/%s", line["per"], line["key"], budget), "")
	}
	for _, b := range limits(t, s, token) {
		if b.Degraded {
			t.Errorf("after the reset %+v", b)
		}
	}
}

// The same promises hold with the counters in Redis: one decision, all budgets of the route or none.
func TestBudgetsInRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	// The deadline is long, because what is tested is not how this machine is loaded.
	s := servertest.Start(t, servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s"})
	carol := s.Token("carol")
	for i := range 100 {
		resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: carol})
		want(t, resp, http.StatusOK)
		if got, want := resp.Header.Get("RateLimit-Policy"), strings.Join([]string{edgeCaller, user, org}, ", "); got != want {
			t.Fatalf("charged %s, want %s", got, want)
		}
		if !strings.Contains(resp.Header.Get("RateLimit"), fmt.Sprintf(`"user";r=%d;t=`, 99-i)) {
			t.Errorf("left: %s", resp.Header.Get("RateLimit"))
		}
	}
	wantRateLimited(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: carol}), "user", "100 requests per 60s")
	budgets := limits(t, s, carol)
	if b := status(t, budgets, "user"); *b.Remaining != 0 || b.Store != "redis" {
		t.Errorf("after all of it the user budget is %+v", b)
	}
	// example:begin
	dave := s.Token("dave")
	for range 5 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: dave}), http.StatusOK)
	}
	wantRateLimited(t, s.Do(servertest.Request{Path: "/api/v1/tasks/export", Token: dave}), "tasks.export", "5 requests per 60s")
	if b := status(t, limits(t, s, dave), "user"); *b.Remaining != 95 {
		t.Errorf("a refused request spent the user budget: %+v", b)
	}
	// example:end
}
