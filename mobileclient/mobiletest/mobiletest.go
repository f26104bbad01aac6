// Package mobiletest is a fake of the API for tests of programs that use the SDK: it speaks the contract, counts its
// budgets on a clock that a test can set, and can be told to fail.
//
//	server := mobiletest.New()
//	client, err := mobileclient.New(mobiletest.URL, mobileclient.WithHTTPClient(server.Client()),
//		mobileclient.WithTokenSource(mobileclient.StaticToken(mobiletest.Token("alice"))))
//
// It is reached without a network, so that a test may run in a testing/synctest bubble, where both the server's clock and
// the client's are the bubble's. Its tasks, people and counters are its own and end with it.
package mobiletest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"example.com/gatehouse/api"
)

// URL is the base URL of every fake. Only its Client reaches it.
const URL = "http://api.test"

// A Server is a fake of the API, safe for concurrent use.
type Server struct {
	mux    *http.ServeMux
	began  time.Time
	routes map[string]api.Route // By the mux's pattern.

	mu       sync.Mutex
	advanced time.Duration
	counters counters
	known    map[string]bool // Tokens that were accepted once.
	revoked  map[string]bool
	tasks    []api.Task // The oldest first. example:line
	serial   int        // example:line
	failures []failure
	answers  map[string]http.HandlerFunc
	requests []Request
	keys     map[keyID]*keyed
}

// A Request is one that reached the server.
type Request struct {
	Method, Path string
	// Route is the route's id, Person whose token it bore, and Status what it was answered with.
	Route, Person string
	Status        int
	// At is the server's time, from its making on.
	At time.Duration
}

type failure struct {
	code api.Code
	wait time.Duration
}

// New makes an empty server, with the budgets of the contract.
func New() *Server {
	s := &Server{
		mux: http.NewServeMux(), began: time.Now(), routes: map[string]api.Route{}, counters: newCounters(),
		known: map[string]bool{}, revoked: map[string]bool{}, answers: map[string]http.HandlerFunc{}, keys: map[keyID]*keyed{},
	}
	for id, handle := range s.handlers() {
		route, ok := api.RouteByID(id)
		if !ok {
			panic("mobiletest: the contract has no route " + id)
		}
		pattern := route.Method + " " + route.Path
		s.routes[pattern] = route
		s.mux.HandleFunc(pattern, handle)
	}
	return s
}

// Token is a bearer token of a person, such as "alice". The server takes any that it did not revoke.
func Token(person string) string {
	payload := fmt.Sprintf(`{"iss":%q,"sub":%q}`, URL, person)
	return "fake." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".fake"
}

// Client is an HTTP client that reaches the server, and nothing else.
func (s *Server) Client() *http.Client { return &http.Client{Transport: direct{s}} }

type direct struct{ server *Server }

// RoundTrip answers in the caller's goroutine.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	d.server.ServeHTTP(rec, in)
	_ = in.Body.Close()
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// Advance moves the server's clock on, and nobody else's: its budgets fill up again before the client's mirror does.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanced += d
}

// SetBudget gives a budget of the contract another limit. What was spent is kept.
func (s *Server) SetBudget(name string, limit int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.setLimit(name, limit)
}

// SetCost sets what a request costs a budget. Metered ones, such as ai.tokens, cost nothing until it is called, as where
// no model is asked.
func (s *Server) SetCost(name string, cost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.setCost(name, cost)
}

// Spend takes units of a person's budget, as another device would.
func (s *Server) Spend(person, budget string, units int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.spend(s.now(), person, budget, units)
}

// FailNext answers the next request with the code, before anything is counted, with the wait as Retry-After if it is
// above 0. Said several times it is for as many requests.
func (s *Server) FailNext(code api.Code, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, failure{code, wait})
}

// Revoke refuses the token from now on with 401.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked[token] = true
	delete(s.known, token)
}

// Handle answers a route by a handler of the test's own, behind authentication and budgets; nil restores the server's.
func (s *Server) Handle(routeID string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[routeID] = handler
}

// Requests returns those that reached the server, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// now is the server's time. The caller has the lock.
func (s *Server) now() time.Duration { return time.Since(s.began) + s.advanced }

// ServeHTTP takes a request the way of the real server: edge, authentication, budgets, handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, pattern := s.mux.Handler(r)
	seen := &status{ResponseWriter: w, code: http.StatusOK}
	c := call{route: s.routes[pattern], token: bearer(r)}
	c.person = personOf(c.token)
	s.note(seen, r, c)
	if !s.admit(seen, r, &c) {
		return
	}
	if c.replay != nil {
		replay(seen, c.replay)
		return
	}
	s.serve(seen, r, &c)
}

// A call is one request on its way.
type call struct {
	route         api.Route
	token, person string
	// key is the idempotency key, request what it names, and replay the answer that is kept for it; claimed says that this
	// request is the first.
	key, request string
	replay       *httptest.ResponseRecorder
	claimed      bool
}

// status notes the status of an answer, in the entry of its request.
type status struct {
	http.ResponseWriter
	code int
	note func(code int)
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.note(code)
	s.ResponseWriter.WriteHeader(code)
}

func (s *Server) note(w *status, r *http.Request, c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.requests)
	s.requests = append(s.requests, Request{
		Method: r.Method, Path: r.URL.Path, Route: c.route.ID, Person: c.person, Status: http.StatusOK, At: s.now(),
	})
	w.note = func(code int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests[i].Status = code
	}
}

func (s *Server) handler(routeID string) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.answers[routeID]; own != nil {
		return own
	}
	return s.mux
}

// admit answers what goes no further.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, c *call) bool {
	if f, ok := s.nextFailure(); ok {
		p := api.NewProblem(f.code, "")
		if f.wait > 0 {
			p = p.WithRetry(f.wait)
		}
		refuse(w, r, p)
		return false
	}
	if err := keyOf(r, c); err != nil {
		refuse(w, r, api.NewProblem(api.CodeBadRequest, ""))
		return false
	}
	if p, ok := s.judge(w.Header(), c); !ok {
		refuse(w, r, p)
		return false
	}
	return true
}

func (s *Server) nextFailure() (f failure, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) == 0 {
		return failure{}, false
	}
	f, s.failures = s.failures[0], s.failures[1:]
	return f, true
}

// judge charges the edge, authenticates, and charges what the route charges. It writes the headers of what it decided.
func (s *Server) judge(h http.Header, c *call) (api.Problem, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	edge, key := api.BudgetEdge, ""
	if s.known[c.token] {
		edge, key = api.BudgetEdgeCaller, c.person
	}
	d := decision{}
	if !s.counters.take(now, &d, key, edge) {
		return d.refuse(h), false
	}
	d.write(h)
	switch {
	case c.route.ID == "":
		return api.NewProblem(api.CodeNotFound, ""), false
	case c.token == "" && c.route.Class.NeedsCredential(), c.token != "" && s.revoked[c.token]:
		return api.NewProblem(api.CodeAuthFailed, ""), false
	case c.token == "":
		return api.Problem{}, true
	}
	return s.judgePerson(now, h, d, c)
}

// judgePerson moves a stranger's charge from the address to the person, and decides the rest.
func (s *Server) judgePerson(now time.Duration, h http.Header, d decision, c *call) (api.Problem, bool) {
	if !s.known[c.token] {
		d = decision{}
		if !s.counters.take(now, &d, c.person, api.BudgetEdgeCaller) {
			return d.refuse(h), false
		}
		s.counters.giveBack(now, "", api.BudgetEdge)
		s.known[c.token] = true
	}
	d.write(h)
	if p, ok := s.claim(now, c); !ok || c.replay != nil {
		return p, ok
	}
	if !s.counters.take(now, &d, c.person, c.route.Charges()...) {
		delete(s.keys, c.keyID())
		return d.refuse(h), false
	}
	d.write(h)
	return api.Problem{}, true
}

func bearer(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// personOf reads the person of a Token; any other token is a person of its own.
func personOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return token
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return token
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Subject == "" {
		return token
	}
	return claims.Subject
}

func refuse(w http.ResponseWriter, r *http.Request, p api.Problem) {
	p.Instance, p.RequestID = r.URL.Path, "fake"
	if p.RetryAfter > 0 {
		value := api.RetryAfterValue(time.Duration(p.RetryAfter) * time.Millisecond)
		w.Header().Set(api.HeaderRetryAfter, value)
		w.Header().Set(api.HeaderXRetryAfter, value)
	}
	w.Header().Set(api.HeaderRequestID, p.RequestID)
	answer(w, p.Status, api.ContentTypeProblem, p)
}

func answer(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	encode(w, body)
}

// encode writes types of the contract, which can all be encoded, to memory.
func encode(w http.ResponseWriter, body any) {
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic("mobiletest: encode answer: " + err.Error())
	}
}
