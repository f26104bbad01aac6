package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// A spray of bad credentials from one address gets 401 up to the limit and 429 after it, and the 429s buy no look-up.
func TestSprayIsThrottledBeforeAuthentication(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	bad := s.Token("alice")
	bad = bad[:len(bad)-8] + "AAAAAAAA" // The right shape, key id and claims; the wrong signature.
	for i := range 100 {
		resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: bad, From: "203.0.113.7"})
		problem := servertest.JSON[api.Problem](t, resp)
		if resp.StatusCode != http.StatusUnauthorized || problem.Code != api.CodeAuthFailed || resp.Header.Get("WWW-Authenticate") == "" {
			t.Fatalf("request %d: %d %s", i+1, resp.StatusCode, resp.Body)
		}
	}
	// Each counter moves when it should, so that its standing still below means something.
	elsewhere := http.Header{"Cookie": {"session=" + strings.Repeat("a", 43)}}
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Header: elsewhere, From: "203.0.113.6"}), http.StatusUnauthorized)
	checks, fetches, lookups := s.Metric("auth_token_checks_total"), s.Metric("auth_key_fetches_total"), s.Metric("auth_session_lookups_total")
	if checks < 100 || fetches < 1 || lookups < 1 {
		t.Fatalf("%v token checks, %v key fetches, %v session look-ups before the limit: the test looks at the wrong counters", checks, fetches, lookups)
	}
	for range 50 {
		wantRateLimited(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: bad, From: "203.0.113.7"}), "edge", "100 requests per 60s")
	}
	cookie := http.Header{"Cookie": {"session=" + strings.Repeat("a", 43)}}
	wantRateLimited(t, s.Do(servertest.Request{Path: "/api/v1/me", Header: cookie, From: "203.0.113.7"}), "edge", "100 requests per 60s")
	if got := s.Metric("auth_token_checks_total"); got != checks {
		t.Errorf("%v token checks after the limit", got-checks)
	}
	if got := s.Metric("auth_key_fetches_total"); got != fetches {
		t.Errorf("%v key fetches after the limit", got-fetches)
	}
	if got := s.Metric("auth_session_lookups_total"); got != lookups {
		t.Errorf("%v session look-ups after the limit", got-lookups)
	}
}

// untilRefused spends a budget that is counted in PostgreSQL, which a busy machine may not answer for in time.
func untilRefused(t *testing.T, send func() servertest.Response) {
	t.Helper()
	for range 30 {
		if send().StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("nothing is refused")
}

// wantRateLimited checks the whole form of a 429.
func wantRateLimited(t *testing.T, resp servertest.Response, budget, allowance string) {
	t.Helper()
	p := servertest.JSON[api.Problem](t, resp)
	h := resp.Header
	wait := h.Get("Retry-After")
	switch {
	case resp.StatusCode != http.StatusTooManyRequests, p.Status != http.StatusTooManyRequests, p.Code != api.CodeRateLimitExceeded:
		t.Fatalf("want a 429, got %d %s", resp.StatusCode, resp.Body)
	case p.Error != "Too Many Requests", p.Title != p.Error, p.Message != "Rate limit exceeded: "+allowance, p.Type != api.TypeQuotaExceeded:
		t.Errorf("the body is %s", resp.Body)
	case !strings.HasPrefix(p.Detail, p.Message+". Try again in "), p.Instance != resp.Request.URL.Path, p.RequestID != h.Get("X-Request-ID"):
		t.Errorf("the body is %s", resp.Body)
	case len(p.ViolatedPolicies) != 1, p.ViolatedPolicies[0] != budget:
		t.Errorf("violated-policies is %v, want %s", p.ViolatedPolicies, budget)
	case wait != fmt.Sprint(p.RetryAfterSeconds), wait != h.Get("X-Retry-After"), p.RetryAfterSeconds < 1, p.RetryAfter < 1:
		t.Errorf("Retry-After %q, body %s", wait, resp.Body)
	case h.Get("Content-Type") != "application/problem+json", h.Get("Cache-Control") != "no-store":
		t.Errorf("headers %v", h)
	}
	quotas := api.ParseQuotas(h)
	for i, service := range quotas.Services {
		if quotas.Policies[i].Name != service.Name {
			t.Errorf("RateLimit-Policy and RateLimit differ: %v", h)
		}
		if service.Name == budget && (service.Remaining != 0 || service.Reset < time.Second || service.Reset > time.Duration(p.RetryAfterSeconds)*time.Second) {
			t.Errorf("%s: %+v beside Retry-After %s", budget, service, wait)
		}
	}
}

// A person who is known to the process gets through while a spray holds the address's budget.
func TestReturningCallerGetsThroughASpray(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice := s.Token("alice")
	const address = "203.0.113.8"
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: alice, From: address}), http.StatusOK)
	spray(t, s, address)
	for range 20 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: alice, From: address}), http.StatusOK)
	}
	// The honest limit: somebody who signs in there for the first time is refused until it eases.
	wantRateLimited(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: s.Token("bob"), From: address}), "edge", "100 requests per 60s")
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: s.Token("bob"), From: "203.0.113.9"}), http.StatusOK)
}

// spray sends bad tokens from an address until it is refused.
func spray(t *testing.T, s *servertest.Server, address string) {
	t.Helper()
	for range 101 {
		if s.Do(servertest.Request{Path: "/api/v1/me", Token: "not.a.token", From: address}).StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Fatal("a spray of 101 was not refused")
}

func want(t *testing.T, resp servertest.Response, status int) {
	t.Helper()
	if resp.StatusCode != status {
		t.Fatalf("%s %s answered %d, want %d: %s", resp.Request.Method, resp.Request.URL.Path, resp.StatusCode, status, resp.Body)
	}
}

// Hundreds of people behind one address do not share a budget, not even when none of them is known yet; a spray from
// there is throttled among itself.
func TestFiveHundredUsersBehindOneAddress(t *testing.T) {
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	const users, address = 500, "100.64.0.1"
	tokens := make([]string, users)
	for i := range tokens {
		tokens[i] = issuer.Token(fmt.Sprint("user-", i), fmt.Sprint("org-", i%50))
	}
	var refused, sprayed, throttled atomic.Int64
	round := func(user int) {
		if resp := s.Do(servertest.Request{Path: "/api/v1/me", Token: tokens[user], From: address}); resp.StatusCode != http.StatusOK {
			refused.Add(1)
			t.Logf("user %d: %d %s", user, resp.StatusCode, resp.Body)
		}
	}
	pace(users, 3, round)
	if refused.Load() > 0 {
		t.Fatalf("%d requests of people who were new to the process were refused", refused.Load())
	}
	pace(users, 3, func(user int) {
		if user%2 == 0 {
			sprayed.Add(1)
			if s.Do(servertest.Request{Path: "/api/v1/me", Token: "not.a.token", From: address}).StatusCode == http.StatusTooManyRequests {
				throttled.Add(1)
			}
		}
		round(user)
	})
	if refused.Load() > 0 {
		t.Errorf("%d requests of known people were refused during the spray", refused.Load())
	}
	if got := sprayed.Load() - throttled.Load(); got > 100 {
		t.Errorf("%d of %d bad tokens were not throttled, want at most 100", got, sprayed.Load())
	}
}

// pace calls f for each of n callers once a second, spread evenly over the second, for some seconds. When the machine
// falls behind, calls come late rather than all at once.
func pace(n, seconds int, f func(int)) {
	const workers = 24
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				f(i)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(n))
	defer tick.Stop()
	for i := range n * seconds {
		<-tick.C
		jobs <- i % n
	}
	close(jobs)
	wg.Wait()
}

// One account gets one account's share, however many tokens or addresses it has.
func TestOneAccountGetsOneShare(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	const share = 120 // Few enough to be spent within the window, however slow the machine.
	file := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"edge.caller": {"limit": %d}}`, share), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, issuer.Env(), servertest.Env{"BUDGETS_FILE": file})
	var many [50]string
	for i := range many {
		many[i] = issuer.Token("many-tokens", "org")
	}
	one := issuer.Token("one-token", "org")
	cases := map[string]func(i int) (token, address string){
		"50 tokens":                   func(i int) (string, string) { return many[i%50], fmt.Sprintf("192.0.2.%d", i%50) },
		"one token from 50 addresses": func(i int) (string, string) { return one, fmt.Sprintf("198.51.100.%d", i%50) },
	}
	for name, pick := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admitted := 0
			for i := range share + 30 {
				token, address := pick(i)
				resp := s.Do(servertest.Request{Path: "/api/v1/limits", Token: token, From: address})
				switch resp.StatusCode {
				case http.StatusOK:
					admitted++
				case http.StatusTooManyRequests:
				default:
					t.Fatalf("%d %s", resp.StatusCode, resp.Body)
				}
			}
			if admitted != share {
				t.Errorf("%d of %d requests were admitted, want the %d of edge.caller", admitted, share+30, share)
			}
		})
	}
}

// Two users behind one address have budgets of their own; one user behind two addresses has one.
func TestBudgetsBelongToUsers(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	alice, bob := s.Token("alice"), s.Token("bob")
	ask := func(token, from string) servertest.Response {
		return s.Do(servertest.Request{Path: "/api/v1/me", Token: token, From: from})
	}
	for i := range 300 {
		want(t, ask(alice, fmt.Sprintf("203.0.113.%d", 20+i%2)), http.StatusOK)
	}
	wantRateLimited(t, ask(alice, "203.0.113.20"), "user", "300 requests per 60s")
	wantRateLimited(t, ask(alice, "203.0.113.22"), "user", "300 requests per 60s")
	want(t, ask(bob, "203.0.113.20"), http.StatusOK)
}

// What a client says of its address counts only if a trusted proxy passes it on.
func TestSpoofedAddressesShareTheSocketsBudget(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Env{"TRUSTED_PROXIES": ""})
	for i := range 100 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/nothing", From: fmt.Sprintf("6.6.6.%d", i)}), http.StatusNotFound)
	}
	wantRateLimited(t, s.Do(servertest.Request{Path: "/api/v1/nothing", From: "6.6.6.200"}), "edge", "100 requests per 60s")
	if n := s.CountLogs("TRUSTED_PROXIES is empty"); n != 1 {
		t.Errorf("that a proxy may be in front was said %d times, want once", n)
	}
}

// Behind the trusted proxy, what stands left of the address that the proxy saw is the client's own claim.
func TestSpoofedHopsDoNotCount(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for i := range 100 {
		want(t, s.Do(servertest.Request{Path: "/nothing", From: fmt.Sprintf("6.6.6.%d, 203.0.113.30", i)}), http.StatusNotFound)
	}
	wantRateLimited(t, s.Do(servertest.Request{Path: "/nothing", From: "7.7.7.7, 203.0.113.30"}), "edge", "100 requests per 60s")
	want(t, s.Do(servertest.Request{Path: "/nothing", From: "203.0.113.31"}), http.StatusNotFound)
}

// All addresses of one IPv6 network are one; the next network is another.
func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for i := range 100 {
		want(t, s.Do(servertest.Request{Path: "/nothing", From: fmt.Sprintf("2001:DB8:0:1::%x", i)}), http.StatusNotFound)
	}
	wantRateLimited(t, s.Do(servertest.Request{Path: "/nothing", From: "2001:db8:0:1:ffff::1"}), "edge", "100 requests per 60s")
	want(t, s.Do(servertest.Request{Path: "/nothing", From: "2001:db8:0:2::1"}), http.StatusNotFound)
}

// Floods of all kinds end at the edge before anything is read; health and pages are outside it.
func TestFloodsEndAtTheEdge(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	big := strings.Repeat("x", 65<<10)
	floods := map[string]servertest.Request{
		"unknown paths":   {Path: "/wp-admin.php", From: "203.0.113.40"},
		"oversized":       {Method: "POST", Path: "/api/v1/auth/refresh", Body: big, From: "203.0.113.41"},
		"wrong methods":   {Method: "PUT", Path: "/api/v1/me", From: "203.0.113.42"},
		"public routes":   {Path: "/api/v1/openapi.json", From: "203.0.113.43"},
		"other site":      {Method: "POST", Path: "/api/v1/auth/logout", From: "203.0.113.44", Header: http.Header{"Cookie": {"a=b"}, "Origin": {"https://evil.example"}}},
		"no credential":   {Path: "/api/v1/me", From: "203.0.113.45"},
		"two credentials": {Path: "/api/v1/me", From: "203.0.113.46", Token: "a.b.c", Header: http.Header{"Cookie": {"session=" + strings.Repeat("a", 43)}}},
	}
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range 100 {
				if resp := s.Do(flood); resp.StatusCode == http.StatusTooManyRequests {
					t.Fatalf("request %d was refused: %s", i+1, resp.Body)
				}
			}
			wantRateLimited(t, s.Do(flood), "edge", "100 requests per 60s")
			want(t, s.Do(servertest.Request{Path: "/livez", From: flood.From}), http.StatusOK)
			want(t, s.Do(servertest.Request{Path: "/", From: flood.From}), http.StatusOK)
		})
	}
}
