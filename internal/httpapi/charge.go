package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit"
)

// A payer is whom budgets are charged to.
type payer struct {
	userID, orgID, sessionID uuid.UUID
	plan                     string
	address                  string
	// user and org are the ids' texts, made once for all asks of a call.
	user, org string
	// request is nil where a budget is looked at for somebody else.
	request *http.Request
}

// payer adds the request, which keys may be told by.
func (c *call) payer() payer {
	p := c.exchange.payer()
	p.request = c.request()
	return p
}

func (x *exchange) payer() payer {
	p := payer{address: x.client.Key}
	if x.caller != nil {
		p.userID, p.orgID, p.sessionID, p.plan = x.caller.UserID, x.caller.OrgID, x.caller.SessionID, x.caller.Plan
		if p.sessionID == uuid.Nil {
			p.sessionID = p.userID // A bearer token has no session; its user stands in.
		}
		p.user, p.org = p.userID.String(), p.orgID.String()
	}
	return p
}

// ask says which counter of a budget the payer is charged under. Keys of one organisation share a group, so that a
// store that spreads keys decides them in one place.
func (s *Server) ask(budget string, p payer, cost int64) ratelimit.Ask {
	per := s.budgets[budget].Per
	if per == api.PerAddress && p.userID == uuid.Nil {
		return ratelimit.Ask{Budget: budget, Group: p.address, ID: p.address, Cost: cost}
	}
	user, org := p.texts()
	ask := ratelimit.Ask{Budget: budget, Group: org, Cost: cost}
	switch per {
	case api.PerUser:
		ask.ID = user
		if budget == api.BudgetEdgeCaller {
			ask.Group = ask.ID // At the edge a credential's user is known, but not yet their organisation.
		}
	case api.PerOrganisation:
		ask.ID = org
	case api.PerSession:
		ask.ID = p.sessionID.String()
	case api.PerAddress:
		ask.Group, ask.ID = p.address, p.address
	case api.PerGlobal:
		ask.Group, ask.ID = api.GlobalID, api.GlobalID
	default:
		ask.ID = s.keyOf(per, p.request)
		if _, within := per.Of(); !within {
			ask.Group = string(per) + " " + ask.ID
		}
	}
	ask.Subject = p.subject(budget, per, user, org)
	return ask
}

// subject is whose plan and overrides apply, as overridable says. Nobody's at the edge, where it must not cost a look-up, nor
// where the counter is shared beyond organisations: whoever calls must not change what it holds for others.
func (p *payer) subject(budget string, per api.Per, user, org string) ratelimit.Subject {
	if budget == api.BudgetEdge || budget == api.BudgetEdgeCaller || slotOf(per) != string(api.PerOrganisation) {
		return ratelimit.Subject{}
	}
	s := ratelimit.Subject{Plan: p.plan}
	if p.userID != uuid.Nil && per != api.PerOrganisation {
		s.User = user
	}
	if p.orgID != uuid.Nil {
		s.Organisation = org
	}
	return s
}

func (p *payer) texts() (user, org string) {
	if p.user != "" {
		return p.user, p.org
	}
	return p.userID.String(), p.orgID.String()
}

// usualCharges is how many budgets a route may charge without an allocation.
const usualCharges = 6

// charge decides everything that the route charges, in one call: all of it, or none.
func (s *Server) charge(c *call) error {
	if len(c.charges) == 0 {
		return nil
	}
	payer := c.payer()
	var usual [usualCharges]ratelimit.Ask
	asks := usual[:0]
	for _, name := range c.charges {
		asks = append(asks, s.ask(name, payer, s.cost(name, c.request())))
	}
	c.budgets = s.Limiter.Decide(c.context(), asks...)
	s.refusals.note(&c.budgets, asks...)
	setQuotaHeaders(c.writer().Header(), &c.edge, &c.budgets)
	return s.refusal(&c.budgets)
}

// refusal turns a decision that does not let the request through into its answer.
func (s *Server) refusal(d *ratelimit.Decision) error {
	switch d.Outcome {
	case ratelimit.Allowed:
		return nil
	case ratelimit.Denied:
		return s.denial(d)
	default:
		return failure{code: api.CodeLimiterUnavailable, cause: d.Err}
	}
}

// denial names the budgets that refused. The allowance is of the one that makes the caller wait longest.
func (s *Server) denial(d *ratelimit.Decision) failure {
	f := failure{code: api.CodeRateLimitExceeded}
	var longest time.Duration
	for i := range d.Results {
		r := &d.Results[i]
		if !r.Refused() {
			continue
		}
		f.violated = append(f.violated, r.Budget.Name)
		if wait := r.Verdict.Retry; f.allowance == "" || wait == ratelimit.Never || longest != ratelimit.Never && wait > longest {
			longest, f.allowance = wait, s.allowance(r)
		}
	}
	f.wait, _ = d.RetryAfter()
	return f
}

func (s *Server) allowance(r *ratelimit.Result) string {
	return api.Allowance(r.Limit.N, s.budgets[r.Budget.Name].Unit, window(r.Limit))
}

// window is the span that a limit is said to apply to: for a bucket the time in which it fills.
func window(l ratelimit.Limit) time.Duration {
	if l.Algorithm == ratelimit.TokenBucket {
		return l.Span()
	}
	return l.Window
}

// giveBack returns what the route's own budgets were charged, if the request failed by the server's fault while the
// caller was still there. The budgets of user and organisation keep theirs: they count requests, not successes.
func (s *Server) giveBack(c *call, finished bool) {
	failed := !finished || c.failed
	if !failed || c.keep || c.context().Err() != nil || c.budgets.Outcome != ratelimit.Allowed || len(c.row.Budgets) == 0 {
		return
	}
	s.Limiter.GiveBack(context.WithoutCancel(c.context()), c.budgets, c.row.Budgets...)
}

// The canonical forms of the headers' names, by which http.Header keeps them: to find them takes time at each request.
const (
	canonicalRateLimitPolicy = "Ratelimit-Policy"
	canonicalRateLimit       = "Ratelimit"
)

// usualHeader is how long a rate-limit header may be without an allocation for each of its parts.
const usualHeader = 192

// setQuotaHeaders states each enforced budget that was counted for this request so far. One that is failing open, in
// shadow or unlimited is left out: a client must not steer by it.
func setQuotaHeaders(h http.Header, decisions ...*ratelimit.Decision) {
	var usual [2][usualHeader]byte
	policies, services := usual[0][:0], usual[1][:0]
	for _, d := range decisions {
		for i := range d.Results {
			r := &d.Results[i]
			if !r.Enforced || !r.Counted || r.Unlimited {
				continue
			}
			policies = api.Policy{Name: r.Budget.Name, Quota: r.Limit.N, Window: window(r.Limit)}.Append(policies)
			services = service(r).Append(services)
		}
	}
	if len(policies) == 0 {
		return
	}
	lines := []string{string(policies), string(services)}
	h[canonicalRateLimitPolicy], h[canonicalRateLimit] = lines[:1:1], lines[1:]
}

func service(r *ratelimit.Result) api.Service {
	return api.Service{
		Name: r.Budget.Name, Remaining: r.Verdict.Remaining,
		Reset: r.Verdict.Next, HasReset: r.Verdict.Remaining < r.Limit.N,
	}
}
