package mobiletest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/gatehouse/api"
)

// A keyed request has an idempotency key, and the answer that is kept for it.
type keyed struct {
	request string // All that makes two requests the same.
	answer  *httptest.ResponseRecorder
	until   time.Duration
}

type keyID struct{ person, route, key string }

// keyOf reads the key of a request and puts its body back.
func keyOf(r *http.Request, c *call) error {
	c.key = r.Header.Get(api.HeaderIdempotencyKey)
	if !c.route.TakesKey || c.key == "" {
		c.key = ""
		return nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.request = r.Method + " " + r.URL.String() + "\n" + r.Header.Get("Content-Type") + "\n" + string(body)
	return err
}

func (c *call) keyID() keyID { return keyID{c.person, c.route.ID, c.key} }

// claim finds the answer to a request that came before, or notes that this one is at work. The caller has the lock.
func (s *Server) claim(now time.Duration, c *call) (problem api.Problem, ok bool) {
	if c.key == "" {
		return api.Problem{}, true
	}
	before := s.keys[c.keyID()]
	switch {
	case !api.IsIdempotencyKey(c.key):
		return api.NewProblem(api.CodeBadRequest, "The idempotency key is malformed."), false
	case before == nil || before.answer != nil && now >= before.until:
		s.keys[c.keyID()] = &keyed{request: c.request}
		c.claimed = true
	case before.request != c.request:
		return api.NewProblem(api.CodeIdempotencyKeyReused, ""), false
	case before.answer == nil:
		return api.NewProblem(api.CodeConflict, "").WithRetry(api.IdempotencyRetryAfter), false
	default:
		c.replay = before.answer
	}
	return api.Problem{}, true
}

// settle keeps a success, and forgets what was refused or failed.
func (s *Server) settle(c *call, answer *httptest.ResponseRecorder) {
	if !c.claimed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer == nil || answer.Code/100 != 2 {
		delete(s.keys, c.keyID())
		return
	}
	s.keys[c.keyID()] = &keyed{request: c.request, answer: answer, until: s.now() + api.IdempotencyFor}
}

// serve answers by the handler, and keeps the answer if the request has a key.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c *call) {
	if !c.claimed {
		s.handler(c.route.ID).ServeHTTP(w, r)
		return
	}
	var answer *httptest.ResponseRecorder
	defer func() { s.settle(c, answer) }() // Also if the handler panics.
	rec := httptest.NewRecorder()
	s.handler(c.route.ID).ServeHTTP(rec, r)
	answer = rec
	send(w, answer)
}

func replay(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	w.Header().Set(api.HeaderIdempotencyReplayed, "true")
	send(w, answer)
}

func send(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // To memory.
}
