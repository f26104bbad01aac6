package mobiletest

import (
	"encoding/json"
	"maps"
	"net/http"

	"example.com/gatehouse/api"
)

// organisation is that of all people.
const organisation = "0198c0de-0000-7000-8000-0000000000aa"

// handlers has one for each route that the SDK calls. What a body must be is checked by the contract's own rules.
func (s *Server) handlers() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{
		api.RouteLimitsGet: s.limits,
		api.RouteMeGet:     s.me,
		api.RouteMeDelete:  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		api.RouteOrgGet:    s.org,
	}
	maps.Copy(all, s.taskHandlers()) // example:line
	return all
}

func ok(w http.ResponseWriter, status int, body any) { answer(w, status, "application/json", body) }

// decode reads a body and holds it to the contract's rules; it answers what breaks them.
func decode[T interface{ Validate() []api.FieldError }](w http.ResponseWriter, r *http.Request) (body T, fine bool) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		p := api.NewProblem(api.CodeInvalidJSON, "")
		p.Fields = []api.FieldError{{Field: "", Message: err.Error()}}
		refuse(w, r, p)
		return body, false
	}
	if faults := body.Validate(); len(faults) > 0 {
		p := api.NewProblem(api.CodeValidationFailed, "")
		p.Fields = faults
		refuse(w, r, p)
		return body, false
	}
	return body, true
}

func (s *Server) limits(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	person := personOf(bearer(r))
	limits := api.Limits{Caller: api.LimitsCaller{Kind: "address"}, Budgets: []api.LimitStatus{}}
	if person != "" {
		limits.Caller = api.LimitsCaller{Kind: "user", UserID: person, OrgID: organisation, Plan: "free"}
	}
	for _, b := range api.Budgets() {
		switch {
		case person == "" && b.Name == api.BudgetEdge:
			limits.Budgets = append(limits.Budgets, s.counters.status(s.now(), b, ""))
		case person != "" && (b.Per == api.PerUser || b.Per == api.PerOrganisation):
			limits.Budgets = append(limits.Budgets, s.counters.status(s.now(), b, person))
		}
	}
	answerLocked(w, limits)
}

// answerLocked answers while the server is locked: the status, which is noted under the same lock, is the usual one.
func answerLocked(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	encode(w, body)
}

func (s *Server) me(w http.ResponseWriter, r *http.Request) {
	person := personOf(bearer(r))
	ok(w, http.StatusOK, api.Me{
		ID: person, Name: person, Email: person + "@example.com", Roles: []string{}, Via: "bearer",
		Organisation: api.MyOrganisation{ID: organisation, Name: "Test", Plan: "free"},
	})
}

func (s *Server) org(w http.ResponseWriter, _ *http.Request) {
	ok(w, http.StatusOK, api.Organisation{ID: organisation, Name: "Test", Plan: "free", MemberCount: 1, CreatedAt: api.NewTime(s.began)})
}
