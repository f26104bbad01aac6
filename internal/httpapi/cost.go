package httpapi

import (
	"net/http"
	"unicode/utf8"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/parse"
)

// A meter says what a request may cost a metered budget, in its units. The budgets are decided before the body is read,
// so it goes by what the header tells.
type meter func(*http.Request) int64

// meters are the other half of the metered budgets in the contract: what each costs. A new one adds its line here.
func meters(parser parse.Parser) map[string]meter {
	return map[string]meter{
		api.BudgetTokens: func(r *http.Request) int64 { return parser.Bound(promptBytes(r.ContentLength)) },
	}
}

// MaxCost is the most that one request can cost the budget: what its limit must be at least.
func MaxCost(b api.Budget, parser parse.Parser) int64 {
	if !b.Metered {
		return 1
	}
	return meters(parser)[b.Name](&http.Request{ContentLength: -1})
}

// cost is what the request is charged of the budget before it is handled.
func (s *Server) cost(budget string, r *http.Request) int64 {
	if metered := s.meters[budget]; metered != nil {
		return metered(r)
	}
	return 1
}

// maxPrompt is the most bytes that a valid text and its time zone can have: no character takes more than four bytes of JSON
// once it is cleaned, and no zone has a name of more than 64.
const maxPrompt = utf8.UTFMax*api.MaxText + 64

// promptBytes is the most that a body of that length can hold of text and time zone; below 0 stands for an unknown one.
func promptBytes(length int64) int64 {
	if length < 0 {
		return maxPrompt
	}
	return min(length, maxPrompt)
}

// settleTokens settles what was reserved of the tokens to what the model said that it used. Where it may have worked and
// said nothing, all is kept; where it was not asked, nothing is. The headers tell what is left after it.
func (s *Server) settleTokens(c *call, result parse.Result) {
	used := result.Usage.Total()
	if result.Reached && used == 0 {
		return
	}
	s.Limiter.Settle(c.context(), c.budgets, api.BudgetTokens, used)
	setQuotaHeaders(c.writer().Header(), &c.edge, &c.budgets)
}
