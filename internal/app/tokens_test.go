package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/servertest"
)

// A model is an OpenAI-compatible API that answers each call with what the test says.
type model struct {
	*httptest.Server

	reported atomic.Int64 // The tokens that it says it used; 0 for none said.
	content  atomic.Value // The answer, as a string.
	status   atomic.Int64
}

const goodAnswer = `{"drafts":[{"title":"Call Bob","notes":"","due":null,"priority":"none","tags":[],"quotes":[]}]}`

func startModel(t *testing.T) *model {
	t.Helper()
	m := &model{}
	m.content.Store(goodAnswer)
	m.status.Store(http.StatusOK)
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	completion := map[string]any{
		"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": m.content.Load()}}},
	}
	if n := m.reported.Load(); n > 0 {
		completion["usage"] = map[string]any{"prompt_tokens": n - 10, "completion_tokens": 10, "total_tokens": n}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(m.status.Load()))
	_ = json.NewEncoder(w).Encode(completion)
}

func (m *model) env() servertest.Env { return servertest.Env{"LLM_BASE_URL": m.URL, "LLM_MODEL": "m"} }

// tokensLeft is what limits.get says is left of ai.tokens.
func (a as) tokensLeft() int64 {
	a.t.Helper()
	return *status(a.t, limits(a.t, a.s, a.token), api.BudgetTokens).Remaining
}

// The tokens of a call are reserved before it, and settled to what the model said that it used.
//
//nolint:tparallel // The cases set what one model answers.
func TestTokensAreSettled(t *testing.T) {
	t.Parallel()
	m := startModel(t)
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env(), m.env())
	cases := map[string]struct {
		body     string
		reported int64
		content  string
		status   int
		want     int
		parser   string
		least    int64 // What the call costs, at least and at most.
		most     int64
	}{
		"reported":                    {`{"text":"call Bob"}`, 700, goodAnswer, 200, 200, "model", 700, 700},
		"not reported":                {`{"text":"call Bob"}`, 0, goodAnswer, 200, 200, "model", 3000, 6000},
		"unusable, reported":          {`{"text":"call Bob"}`, 650, "sorry", 200, 200, "local", 650, 650},
		"unusable, not reported":      {`{"text":"call Bob"}`, 0, "sorry", 200, 200, "local", 3000, 6000},
		"turned away":                 {`{"text":"call Bob"}`, 0, "", 401, 200, "local", 0, 0},
		"refused before it was asked": {`{"text":""}`, 700, goodAnswer, 200, 422, "", 0, 0},
		"no word in the text":         {`{"text":"!!"}`, 700, goodAnswer, 200, 200, "local", 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m.reported.Store(c.reported)
			m.content.Store(c.content)
			m.status.Store(int64(c.status))
			alice := as{t, s, issuer.Token(strings.ReplaceAll(name, " ", "-"), "acme")}
			resp := alice.do("POST", "/api/v1/tasks/parse", c.body)
			want(t, resp, c.want)
			if c.parser != "" && servertest.JSON[api.ParseResult](t, resp).Parser != c.parser {
				t.Errorf("answered %s", resp.Body)
			}
			left := alice.tokensLeft()
			if cost := 20_000 - left; cost < c.least || cost > c.most {
				t.Errorf("cost %d tokens, want %d to %d", cost, c.least, c.most)
			}
			if h := resp.Header.Get("RateLimit"); !strings.Contains(h, fmt.Sprintf(`"ai.tokens";r=%d`, left)) {
				t.Errorf("%d are left, and the headers say %s", left, h)
			}
		})
	}
}

// A person whose tokens do not cover the most that a call may use is refused, by that name alone, and only there.
func TestTokensRefuse(t *testing.T) {
	t.Parallel()
	m := startModel(t)
	m.reported.Store(19_000)
	s := servertest.Start(t, m.env())
	carol := as{t, s, s.Token("carol")}
	want(t, carol.do("POST", "/api/v1/tasks/parse", `{"text":"call Bob"}`), http.StatusOK)
	// More was used than was reserved, so the reservation stays. Further ones take the rest.
	m.reported.Store(0)
	resp := carol.parseWhileTheBurstLasts()
	for resp.StatusCode == http.StatusOK {
		resp = carol.parseWhileTheBurstLasts()
	}
	p := servertest.JSON[api.Problem](t, resp)
	if !slices.Equal(p.ViolatedPolicies, []string{api.BudgetTokens}) || p.Message != "Rate limit exceeded: 20000 tokens per 86400s" || p.RetryAfterSeconds < 80_000 {
		t.Errorf("refused with %s", resp.Body)
	}
	if left := carol.tokensLeft(); left < 1 {
		t.Errorf("%d are left: a refusal must spend none", left)
	}
	want(t, carol.do("GET", "/api/v1/tasks", ""), http.StatusOK)
	want(t, as{t, s, s.Token("dave")}.do("POST", "/api/v1/tasks/parse", `{"text":"call Bob"}`), http.StatusOK)
}

// What the settings allow is at least what one call may use: less would refuse every one.
func TestTokensBelowOneCall(t *testing.T) {
	t.Parallel()
	m := startModel(t)
	issuer := servertest.StartIssuer(t)
	database := servertest.Env{"DATABASE_URL": servertest.NewDatabase(t)}
	s := servertest.Start(t, issuer.Env(), database, m.env())
	admin := newAdministrator(t, s, issuer, "root")
	alice := me(t, s, issuer.Token("alice", "acme"))
	for _, whose := range []string{"plan/free", "organisation/" + alice.Organisation.ID, "user/" + alice.ID} {
		path := "/overrides/" + whose + "/ai.tokens"
		resp := admin.do("PUT", path, `{"limit":5000,"reason":"x"}`)
		wantFields(t, resp, "limit")
		if fix := servertest.JSON[api.Problem](t, resp).Fields[0].Message; !strings.Contains(fix, "must be at least ") || !strings.Contains(fix, "one request may use") {
			t.Errorf("the fault is said as %q", fix)
		}
		for _, body := range []string{`{"limit":5000,"enforce":false,"reason":"x"}`, `{"limit":0,"reason":"x"}`, `{"limit":20000,"reason":"x"}`, `{"unlimited":true,"reason":"x"}`} {
			admin.must("PUT", path, body)
		}
	}
	// Set where there is no model, it is told of where there is one.
	newAdministrator(t, servertest.Start(t, issuer.Env(), database), issuer, "root").must("PUT", "/overrides/user/"+alice.ID+"/ai.tokens", `{"limit":7,"reason":"x"}`)
	s = servertest.Start(t, issuer.Env(), database, m.env())
	if numbers := fmt.Sprint(s.AwaitLog("numbers of plans or overrides do not hold as they stand")["numbers"]); !strings.Contains(numbers, "override of user "+alice.ID+": ai.tokens must be at least ") {
		t.Errorf("the log says %s", numbers)
	}
}

// Without a model nobody spends tokens, and any limit holds.
func TestTokensWithoutAModel(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	admin := newAdministrator(t, servertest.Start(t, issuer.Env()), issuer, "root")
	admin.must("PUT", "/overrides/plan/free/ai.tokens", `{"limit":1,"reason":"x"}`)
}

// parseWhileTheBurstLasts waits as long as the burst budget says, so that it is not what refuses.
func (a as) parseWhileTheBurstLasts() servertest.Response {
	a.t.Helper()
	for {
		resp := a.do("POST", "/api/v1/tasks/parse", `{"text":"call Bob"}`)
		if resp.StatusCode != http.StatusTooManyRequests {
			return resp
		}
		p := servertest.JSON[api.Problem](a.t, resp)
		if !slices.Contains(p.ViolatedPolicies, "tasks.parse.burst") {
			return resp
		}
		time.Sleep(time.Second) // The burst's window; the wait that the answer says may be that of the tokens.
	}
}
