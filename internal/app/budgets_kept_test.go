package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// smallBudgets makes every budget small, so that spending one takes a few requests and not a minute. Of the budgets that a
// route charges, its own stays the smallest.
const smallBudgets = `{
	"edge": {"limit": 5}, "user": {"limit": 3}, "admin": {"limit": 3},
	` +
	`"tasks.write": {"limit": 2}, "tasks.parse": {"limit": 2}, "tasks.export": {"limit": 2}, "reports.create": {"limit": 2}, ` + // example:line
	`
	"auth.login": {"limit": 2}, "auth.refresh": {"limit": 2}, "admin.threaddump": {"limit": 2}, "admin.heapdump": {"limit": 2}
}`

// smallest says which budget of each route is spent first, and after how many requests. It is written out, so a budget that
// a route has lost is missed here.
func smallest() map[string]struct {
	budget string
	after  int
} {
	type spent = struct {
		budget string
		after  int
	}
	public, user, admin := spent{"edge", 5}, spent{"user", 3}, spent{"admin", 3}
	all := map[string]spent{
		"limits.get": public, "openapi.get": public, "auth.callback": public, "auth.logout": public, "auth.backchannel": public,
		"auth.login": {"auth.login", 2}, "auth.refresh": {"auth.refresh", 2},
		"me.get": user, "me.delete": user, "org.get": user,
		"admin.orgs.list": admin, "admin.orgs.plan": admin, "admin.plans.list": admin, "admin.audit.list": admin,
		"admin.throttled": admin, "admin.limiter": admin, "admin.overrides.list": admin, "admin.overrides.put": admin, "admin.overrides.delete": admin,
		"admin.limits.explain": admin, "admin.limits.reset": admin, "admin.users.revoke": admin,
		"admin.threaddump": {"admin.threaddump", 2}, "admin.heapdump": {"admin.heapdump", 2},
	}
	// example:begin
	write := spent{"tasks.write", 2}
	maps.Copy(all, map[string]spent{
		"me.delete": write, "tasks.create": write, "tasks.update": write, "tasks.delete": write,
		"tasks.parse": {"tasks.parse", 2}, "tasks.export": {"tasks.export", 2}, "reports.create": {"reports.create", 2},
		"tasks.list": user, "tasks.get": user, "admin.reports.list": admin,
	})
	// example:end
	return all
}

// Every route refuses once its smallest budget is spent, by that budget's name, and not before.
func TestEveryRouteRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(file, []byte(smallBudgets), 0o600); err != nil {
		t.Fatal(err)
	}
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env(), servertest.Env{"BUDGETS_FILE": file})
	wanted := smallest()
	for i, id := range slices.Sorted(maps.Keys(routeCases())) {
		c, spent := routeCases()[id], wanted[id]
		delete(wanted, id)
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			request := servertest.Request{Method: c.method, Path: c.path, Body: c.body, From: addressOf(i)}
			send := func() servertest.Response { return s.Do(request) }
			if spent.budget != "edge" && spent.budget != "auth.login" {
				signIn := func() string { return issuer.Token("refused-at-"+id, "org-of-"+id, roleOf(c)...) }
				request.Token = signIn()
				if id == "me.delete" {
					send = func() servertest.Response { return sendSignedIn(t, s, request, signIn) }
				}
			}
			for n := range spent.after {
				if resp := send(); resp.StatusCode == http.StatusTooManyRequests {
					t.Fatalf("request %d of %d was refused: %s", n+1, spent.after, resp.Body)
				}
			}
			resp := send()
			p := servertest.JSON[api.Problem](t, resp)
			if resp.StatusCode != http.StatusTooManyRequests || !slices.Equal(p.ViolatedPolicies, []string{spent.budget}) {
				t.Errorf("request %d answered %d %s, want a refusal for %q", spent.after+1, resp.StatusCode, resp.Body, spent.budget)
			}
		})
	}
	for id := range wanted {
		t.Errorf("%s is no route", id)
	}
}

// sendSignedIn sends a request of somebody who may have removed themselves a moment ago: it signs in until the token is of
// a later second than the removal.
func sendSignedIn(t *testing.T, s *servertest.Server, r servertest.Request, signIn func() string) servertest.Response {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for i := 0; time.Now().Before(deadline); i++ {
		r.Token, r.From = signIn(), fmt.Sprintf("10.5.%d.%d", i/250, i%250)
		if resp := s.Do(r); resp.StatusCode != http.StatusUnauthorized {
			return resp
		}
	}
	t.Fatal("a token of after the removal is refused")
	return servertest.Response{}
}

// addressOf is an address that no other route's test has.
func addressOf(i int) string { return "198.51.100." + string(rune('1'+i/10)) + string(rune('0'+i%10)) }

func roleOf(c routeCase) []string {
	if c.admin == 0 {
		return nil
	}
	return []string{"admin"}
}
