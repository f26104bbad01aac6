package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/clientip"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/ratelimittest"
)

// Peers whose address cannot be read, such as those of a unix socket, share one bucket at the edge and are counted: none
// is let past.
func TestUnreadableAddressesShareTheEdge(t *testing.T) {
	t.Parallel()
	limiter, _ := ratelimittest.OnClock(t, ratelimit.Budget{
		Name: api.BudgetEdge, Limit: ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 4, Window: time.Minute},
		Store: "memory", OnFailure: ratelimit.Local, Enforce: true, MaxCost: 1,
	})
	addresses, err := clientip.New(clientip.Config{})
	if err != nil {
		t.Fatal(err)
	}
	edge, _ := api.BudgetNamed(api.BudgetEdge)
	public := &url.URL{Scheme: "http", Host: "localhost:8080"}
	credentials, err := auth.New(auth.Config{
		Issuer: "https://issuer.test", ClientID: "web", Audience: "api", Clients: []string{"web"}, Scopes: []string{"openid"}, OrgClaim: "-",
		PublicURL: public, SessionIdle: time.Hour, SessionMax: time.Hour, Log: slog.New(slog.DiscardHandler),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	unreadable := 0
	s := &Server{
		Config: Config{
			Limiter: limiter, Addresses: addresses, Log: slog.New(slog.DiscardHandler), PublicURL: public, Auth: credentials,
			Known: auth.NewKnown(auth.KnownConfig{}), Hooks: Hooks{UnreadableAddress: func() { unreadable++ }},
		},
		budgets: map[string]api.Budget{api.BudgetEdge: edge}, refusals: newRefusals(),
	}
	h := s.identify(s.limitEdge(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
	for i, peer := range []string{"", "@", "pipe", "", "@", "", "203.0.113.1:4"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = peer
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		want := http.StatusNoContent
		if i == 4 || i == 5 {
			want = http.StatusTooManyRequests
		}
		if w.Code != want {
			t.Errorf("request %d from %q answered %d, want %d", i+1, peer, w.Code, want)
		}
	}
	if unreadable != 6 {
		t.Errorf("%d unreadable addresses were counted, want 6", unreadable)
	}
}
