package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/frequent"
	"example.com/gatehouse/internal/ratelimit"
)

const (
	// refusalSpan is how long a refusal is remembered.
	refusalSpan = time.Hour
	// refusalKeys is how many keys are told apart in each twelfth of the span: a megabyte at most in all.
	refusalKeys = 256
)

// A refusedKey is one key of one budget.
type refusedKey struct{ budget, id string }

// A refused is how often a key was refused, or would have been.
type refused = frequent.Entry[refusedKey]

// refusals remembers whom this process refused most, and whom it would have refused but for a shadow.
type refusals struct {
	denied, wouldDeny *frequent.Counter[refusedKey]
}

func newRefusals() *refusals {
	cfg := frequent.Config{Span: refusalSpan, Keys: refusalKeys}
	return &refusals{denied: frequent.New[refusedKey](cfg), wouldDeny: frequent.New[refusedKey](cfg)}
}

// note remembers what the decision of the asks refused.
func (f *refusals) note(d *ratelimit.Decision, asks ...ratelimit.Ask) {
	if f == nil {
		return
	}
	for i := range d.Results {
		r := &d.Results[i]
		switch {
		case r.Verdict.OK || !r.Counted:
		case r.Enforced:
			f.denied.Note(keyOf(r.Budget.Name, asks))
		default:
			f.wouldDeny.Note(keyOf(r.Budget.Name, asks))
		}
	}
}

// keyOf finds the ask of a budget: a repeated refusal has results for the refusing budgets alone.
func keyOf(budget string, asks []ratelimit.Ask) refusedKey {
	for i := range asks {
		if asks[i].Budget == budget {
			return refusedKey{budget, asks[i].ID}
		}
	}
	return refusedKey{budget: budget}
}

// adminThrottled tells whom this process refused most, and whom shadows would have: people and organisations by their names,
// addresses by their network.
func (s *Server) adminThrottled(c *call) error {
	query, err := c.query()
	if err != nil {
		return err
	}
	limit, fault := pageSize(query.Get("limit"))
	if fault != nil {
		return invalid([]api.FieldError{*fault})
	}
	denied, wouldDeny := s.refusals.denied.Top(limit), s.refusals.wouldDeny.Top(limit)
	names, err := s.namesOf(c, denied, wouldDeny)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.ThrottledList{
		Since: api.NewTime(s.refusals.denied.Since()),
		Items: bodies(denied, func(e refused) api.ThrottledKey {
			id := throttledID(e)
			return api.ThrottledKey{
				Budget: e.Key.budget, Per: s.budgets[e.Key.budget].Per, ID: id, Name: names[id],
				Denied: e.Count, Overcounted: e.Over, LastAt: api.NewTime(e.Last),
			}
		}),
		Shadows: bodies(wouldDeny, func(e refused) api.ShadowedKey {
			id := throttledID(e)
			return api.ShadowedKey{
				Budget: e.Key.budget, Per: s.budgets[e.Key.budget].Per, ID: id, Name: names[id],
				WouldDeny: e.Count, Overcounted: e.Over, LastAt: api.NewTime(e.Last),
			}
		}),
	})
}

// throttledID names whom the entry is of. A network is named by its first address, which a path holds as it is.
func throttledID(e refused) string {
	id, _, _ := strings.Cut(e.Key.id, "/")
	return id
}

func (s *Server) namesOf(c *call, lists ...[]refused) (map[string]string, error) {
	var ids []uuid.UUID
	for _, e := range slices.Concat(lists...) {
		if id, err := uuid.Parse(e.Key.id); err == nil {
			ids = append(ids, id)
		}
	}
	found, err := s.Store.Names(c.context(), ids)
	if err != nil {
		return nil, fmt.Errorf("read names of the throttled: %w", err)
	}
	names := make(map[string]string, len(found))
	for id, name := range found {
		names[id.String()] = name
	}
	return names, nil
}

// adminLimiter tells how the limiter of this process is.
func (s *Server) adminLimiter(c *call) error {
	body := api.LimiterStatus{TableHash: s.Limiter.TableHash(), Stores: bodies(s.Limiter.Stores(), storeBody), Budgets: []api.LimiterBudget{}}
	outages := map[string]ratelimit.Outage{}
	for _, o := range s.Limiter.Outages() {
		outages[o.Budget.Name] = o
	}
	for _, b := range s.Limiter.Budgets() {
		row := api.LimiterBudget{
			Name: b.Name, Store: api.Place(b.Store), Mode: api.Mode(b.OnFailure.String()), Source: api.Source(b.Setting().Source), Enforced: b.Enforce,
		}
		if o, ok := outages[b.Name]; ok {
			row.Outage = &api.LimiterOutage{Since: api.NewTime(o.Began), Decisions: o.Decisions, Error: o.Err.Error()}
		}
		body.Budgets = append(body.Budgets, row)
	}
	stats := s.CounterStats()
	body.Memory = api.LimiterMemory{Keys: int64(stats.Keys), Evictions: stats.Evicted}
	return c.json(http.StatusOK, body)
}

func storeBody(status ratelimit.StoreStatus) api.LimiterStore {
	return api.LimiterStore{Store: api.Place(status.Name), BreakerOpen: status.BreakerOpen, Epoch: int64(status.Epoch)} //nolint:gosec // Counts events.
}
