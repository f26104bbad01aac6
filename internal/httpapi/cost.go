package httpapi

import (
	"net/http"

	"example.com/gatehouse/api"
)

// A Meter says what a request may cost a metered budget, in its units. The budgets are decided before the body is read,
// so it goes by what the header tells.
type Meter func(*http.Request) int64

// Meters are the other half of the metered budgets in the contract: what each costs, by the budget's name.
type Meters map[string]Meter

// MaxCost is the most that one request can cost the budget: what its limit must be at least. A metered budget whose meter is
// missing costs what others do; New says that it is missing.
func (m Meters) MaxCost(b api.Budget) int64 {
	meter := m[b.Name]
	if !b.Metered || meter == nil {
		return 1
	}
	return meter(&http.Request{ContentLength: -1})
}

// cost is what the request is charged of the budget before it is handled.
func (s *Server) cost(budget string, r *http.Request) int64 {
	if metered := s.Meters[budget]; metered != nil {
		return metered(r)
	}
	return 1
}
