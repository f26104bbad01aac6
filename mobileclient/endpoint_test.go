package mobileclient

import (
	"regexp"
	"strings"
	"testing"

	"example.com/gatehouse/api"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                     "/",
		"/":                    "/",
		"/api/v1/tasks":        "/api/v1/tasks",
		"api/v1/tasks/":        "/api/v1/tasks",
		"//api///v1/tasks":     "/api/v1/tasks",
		"/api/./v1/x/../tasks": "/api/v1/tasks",
		"/../../etc":           "/etc",
		"/api/v1/tasks/0198C0DE-0000-7000-8000-000000000001": "/api/v1/tasks/:id",
		"/api/v1/tasks/42?done=true":                         "/api/v1/tasks/:id",
		"/a/1/b/2#c":                                         "/a/:id/b/:id",
		"/v1/2026-01-31/x1":                                  "/v1/2026-01-31/x1",
		"/a/٣":                                               "/a/٣",
		"/a/0198c0de00007000800000000000001":                 "/a/0198c0de00007000800000000000001",
	}
	for path, want := range tests {
		if got := normalise(path); got != want {
			t.Errorf("normalise(%q) = %q, want %q", path, got, want)
		}
	}
}

var idSegment = regexp.MustCompile(`^([0-9]+|[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})$`)

func FuzzNormalise(f *testing.F) {
	for _, seed := range []string{"", "/", "//a//b/", "/tasks/0198c0de-0000-7000-8000-000000000001/x?y#z", "/1/2/3", "/a/../..", "/%2e%2e/1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		once := normalise(path)
		if twice := normalise(once); twice != once {
			t.Errorf("normalise(%q) = %q, and of that %q", path, once, twice)
		}
		if !strings.HasPrefix(once, "/") || strings.Contains(once, "//") || once != "/" && strings.HasSuffix(once, "/") {
			t.Errorf("normalise(%q) = %q is not clean", path, once)
		}
		if doubled := normalise("/" + strings.ReplaceAll(path, "/", "//") + "/"); !strings.ContainsAny(path, "?#") && doubled != once {
			t.Errorf("slashes make a difference: %q and %q", once, doubled)
		}
		for segment := range strings.SplitSeq(once, "/") {
			if idSegment.MatchString(segment) {
				t.Errorf("normalise(%q) = %q holds an id", path, once)
			}
		}
	})
}

func TestEndpointsOfTheContractAreTheNormalisedPaths(t *testing.T) {
	t.Parallel()
	for _, r := range api.Routes() {
		if r.Class == api.ClassAdmin {
			continue // Not for clients, and not all of its segments are ids.
		}
		path := r.URL("0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002")
		if got, want := endpointOf(r), normalise(path); got != want {
			t.Errorf("%s: %q, want %q", r.ID, got, want)
		}
	}
}

func TestCallTo(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"me.get":             api.RouteMeGet,
		"/api/v1/me":         api.RouteMeGet,
		"DELETE /api/v1/me/": api.RouteMeDelete,
		// example:begin
		"tasks.parse":               api.RouteTasksParse,
		"/api/v1/tasks/parse":       api.RouteTasksParse,
		"POST /api/v1/tasks/parse/": api.RouteTasksParse,
		"/api/v1/tasks":             api.RouteTasksList,
		"POST /api/v1/tasks":        api.RouteTasksCreate,
		"/api/v1/tasks/:id":         api.RouteTasksGet,
		"delete /api/v1/tasks/7":    api.RouteTasksDelete,
		"PATCH /api/v1/tasks/0198c0de-0000-7000-8000-000000000001": api.RouteTasksUpdate,
		// example:end
	}
	contract := newCatalogue()
	for endpoint, want := range tests {
		if call, err := contract.callTo(endpoint); err != nil || call.route.ID != want {
			t.Errorf("%q is %q (%v), want %q", endpoint, call.route.ID, err, want)
		}
	}
	call, err := contract.callTo("/api/v2/things/7")
	if err != nil || call.endpoint != "/api/v2/things/:id" || len(call.charges) == 0 || call.charges[0] != api.BudgetUser {
		t.Errorf("a path beside the contract: %+v, %v", call, err)
	}
	for _, endpoint := range []string{"", "tasks", "GET", "GET tasks", " "} {
		if _, err := contract.callTo(endpoint); err == nil {
			t.Errorf("%q is taken", endpoint)
		}
	}
}
