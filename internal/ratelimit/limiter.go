package ratelimit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// defaultTimeout bounds one call of a store: many times what a healthy one takes, and little beside a request.
const defaultTimeout = 50 * time.Millisecond

// A Config is what New wires together.
type Config struct {
	// Budgets are the rows of the table, in the table's order.
	Budgets []Budget
	// Stores are the stores that rows name.
	Stores map[string]Store
	// Local counts budgets of mode Local while their store cannot say; needed if there is such a row.
	Local Store
	// Resolve finds what applies to a subject; nil means each row's own numbers. It must answer from memory or within
	// a bounded time, and always with a limit that Check passes.
	Resolve func(ctx context.Context, b *Budget, s Subject) Setting
	Hooks   Hooks
	// Timeout bounds each call of a store, 50 ms if 0; Timeouts says otherwise for single stores.
	Timeout  time.Duration
	Timeouts map[string]time.Duration
	// Now is the clock of breakers and outages, time.Now if nil. Stores count by clocks of their own.
	Now func() time.Time
}

func (c *Config) timeout(store string) time.Duration {
	if t := c.Timeouts[store]; t > 0 {
		return t
	}
	return c.Timeout
}

// A Limiter decides. It is safe for concurrent use.
type Limiter struct {
	config  Config
	table   atomic.Pointer[table]
	reload  sync.Mutex // Held while the table changes.
	guards  map[string]*guard
	local   *guard
	resolve func(context.Context, *Budget, Subject) Setting
	now     func() time.Time
	process string    // Names this limiter among all.
	scratch sync.Pool // Of *scratch.
}

// A scratch is what one decision needs and the next can use again.
type scratch struct {
	charges  []Charge
	verdicts []Verdict
	results  []int // The index of the result that each charge belongs to.
}

// New wires the limiter, or says everything that is wrong with its configuration.
func New(config Config) (*Limiter, error) {
	if err := config.lint(); err != nil {
		return nil, err
	}
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	l := &Limiter{
		config:  config,
		guards:  make(map[string]*guard, len(config.Stores)),
		resolve: config.Resolve,
		now:     config.Now,
		process: rand.Text(),
	}
	for name, store := range config.Stores {
		l.guards[name] = newGuard(name, store, &config)
	}
	if config.Local != nil {
		l.local = newGuard(LocalStore, config.Local, &config)
	}
	l.fill(config.Budgets)
	return l, nil
}

// Reset forgets what was charged to a key of the budget, in its store and in this process.
func (l *Limiter) Reset(ctx context.Context, budget, group, id string) error {
	r := l.row(budget)
	if r == nil {
		return fmt.Errorf("%w: budget %q is not in the table", ErrAsk, budget)
	}
	key := Key{Budget: budget, Group: group, ID: id}
	if l.local != nil {
		if err := l.local.store.Reset(ctx, key); err != nil {
			return fmt.Errorf("reset %s in this process: %w", budget, err)
		}
	}
	return r.guard.reset(ctx, key)
}

// ResetHere forgets what this process holds of a key by itself: its count, if the budget is counted in this process, and
// refusals that it would repeat. It is for the other processes when one of them resets a key.
func (l *Limiter) ResetHere(ctx context.Context, budget, group, id string) error {
	r := l.row(budget)
	if r == nil {
		return fmt.Errorf("%w: budget %q is not in the table", ErrAsk, budget)
	}
	defer r.guard.forget()
	key := Key{Budget: budget, Group: group, ID: id}
	for _, g := range []*guard{l.local, r.guard} {
		if g == nil || g.inside == nil {
			continue
		}
		if err := g.store.Reset(ctx, key); err != nil {
			return fmt.Errorf("reset %s in this process: %w", budget, err)
		}
	}
	return nil
}

// Close reports the outages that have not ended. The limiter runs nothing in the background; the stores are the
// caller's to close.
func (l *Limiter) Close() {
	for _, g := range l.guards {
		if g.failing.Swap(false) {
			g.endOutages(EndedByClose)
		}
	}
}

// Budget is the row of that name, or nil.
func (l *Limiter) Budget(name string) *Budget {
	if r := l.row(name); r != nil {
		return &r.budget
	}
	return nil
}

// Budgets are the rows in the table's order.
func (l *Limiter) Budgets() []*Budget {
	rows := l.table.Load().order
	budgets := make([]*Budget, len(rows))
	for i, r := range rows {
		budgets[i] = &r.budget
	}
	return budgets
}

// Together faults budgets that cannot share a decision: unknown ones, one named twice, and those of different
// stores. Callers check each route with it at start.
func (l *Limiter) Together(budgets ...string) error {
	seen, rows := make(map[string]bool, len(budgets)), l.table.Load().rows
	for _, name := range budgets {
		switch {
		case rows[name] == nil:
			return fmt.Errorf("budget %q is not in the table", name)
		case seen[name]:
			return fmt.Errorf("budget %q is charged twice: mount it once", name)
		case rows[name].guard != rows[budgets[0]].guard:
			return fmt.Errorf("budgets %q and %q are charged together but counted in %s and %s: give them one store",
				budgets[0], name, rows[budgets[0]].guard.name, rows[name].guard.name)
		}
		seen[name] = true
	}
	return nil
}

// Decide charges all asks or none. Its Results are one an ask, in order. The asks' budgets lie in one store.
func (l *Limiter) Decide(ctx context.Context, asks ...Ask) Decision {
	var d Decision
	l.DecideInto(ctx, &d, asks...)
	return d
}

// DecideInto is Decide that reuses what d holds; nothing of d may be in use any more.
func (l *Limiter) DecideInto(ctx context.Context, d *Decision, asks ...Ask) {
	l.decide(ctx, d, asks, false)
	l.count(d)
}

// Look answers what Decide would find, for asks of cost 0: it charges nothing and moves no metric.
func (l *Limiter) Look(ctx context.Context, asks ...Ask) Decision {
	var d Decision
	l.decide(ctx, &d, asks, true)
	return d
}

func (l *Limiter) decide(ctx context.Context, d *Decision, asks []Ask, look bool) {
	*d = Decision{Outcome: Allowed, Results: d.Results[:0]}
	if err := l.prepare(ctx, d, asks, look); err != nil {
		d.fault(err)
		return
	}
	s, ok := l.scratch.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	defer l.scratch.Put(s)
	if g := s.gather(d.Results); g != nil && !g.repeat(d) {
		l.ask(ctx, d, g, s, look)
	}
}

// prepare makes a result of each ask, with the numbers that apply.
func (l *Limiter) prepare(ctx context.Context, d *Decision, asks []Ask, look bool) error {
	rows := l.table.Load().rows
	for i := range asks {
		a := &asks[i]
		r := rows[a.Budget]
		if r == nil {
			return fmt.Errorf("%w: budget %q is not in the table", ErrAsk, a.Budget)
		}
		if i > 0 && r.guard != d.Results[0].guard {
			return fmt.Errorf("%w: %w", ErrAsk, l.Together(asks[0].Budget, a.Budget))
		}
		setting := l.setting(ctx, r, a)
		d.Results = append(d.Results, Result{
			Budget: &r.budget, Limit: setting.Limit, Source: setting.Source, Store: r.guard.name,
			Enforced: setting.Enforce, Unlimited: setting.Unlimited,
			Verdict: Verdict{OK: true, Remaining: setting.Limit.N},
			key:     Key{Budget: r.budget.Name, Group: a.Group, ID: a.ID}, cost: a.Cost, row: r, guard: r.guard,
		})
		if look {
			d.Results[i].cost = 0
		}
	}
	return nil
}

func (l *Limiter) setting(ctx context.Context, r *row, a *Ask) Setting {
	if l.resolve == nil {
		return r.budget.Setting()
	}
	return l.resolve(ctx, &r.budget, a.Subject)
}

func (d *Decision) fault(err error) {
	*d = Decision{Outcome: Unavailable, Results: d.Results[:0], Err: err}
}

// gather makes the charges of the results that are counted, and names their guard; nil if there are none.
func (s *scratch) gather(results []Result) (g *guard) {
	s.reset()
	for i := range results {
		r := &results[i]
		if r.Unlimited {
			continue
		}
		s.add(i, r)
		g = r.guard
	}
	return g
}

func (s *scratch) reset() {
	s.charges, s.verdicts, s.results = s.charges[:0], s.verdicts[:0], s.results[:0]
}

func (s *scratch) add(i int, r *Result) {
	s.charges = append(s.charges, Charge{Key: r.key, Limit: r.Limit, Cost: r.cost, Shadow: !r.Enforced})
	s.results = append(s.results, i)
}

// ask charges the store and settles what it cannot say by the budgets' modes.
func (l *Limiter) ask(ctx context.Context, d *Decision, g *guard, s *scratch, look bool) {
	m := g.mark()
	verdicts, err := g.take(ctx, s.verdicts, s.charges)
	s.verdicts = verdicts[:0]
	if errors.Is(err, ErrCharge) {
		d.fault(fmt.Errorf("%w: %w", ErrAsk, err))
		return
	}
	if err != nil {
		l.fallBack(ctx, d, s, err, look)
		return
	}
	faulty := false
	for i, v := range verdicts {
		r := &d.Results[s.results[i]]
		r.Verdict, r.Counted = v, v.Err == nil
		faulty = faulty || v.Err != nil
	}
	d.judge()
	if d.Outcome == Denied {
		g.remember(m, d)
	}
	if faulty {
		l.repair(ctx, d, s, look)
	}
}

// judge derives the outcome from the verdicts.
func (d *Decision) judge() {
	d.Outcome = Allowed
	for i := range d.Results {
		if d.Results[i].Refused() && d.Results[i].Verdict.Err == nil {
			d.Outcome = Denied
		}
	}
}

func (l *Limiter) count(d *Decision) {
	for i := range d.Results {
		r := &d.Results[i]
		h := &r.row.hooks
		switch {
		case r.Degraded || !r.Counted:
		case r.WouldDeny():
			count(h.WouldDeny)
		case !r.Enforced:
		case r.Verdict.OK:
			count(h.Allowed)
		default:
			count(h.Denied)
		}
	}
}
