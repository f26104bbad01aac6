package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errBreakerOpen stands for calls that were not made because earlier ones failed.
var errBreakerOpen = errors.New("the store failed a moment ago and is not asked")

var errPanicked = errors.New("the store panicked")

// A guard asks one store, bounded in time, and stops asking one that fails.
type guard struct {
	name     string
	store    Store
	inside   InProcess // Set where the store is in this process: asked directly.
	returner Returner  // Set where the store can give back.
	timeout  time.Duration
	now      func() time.Time
	hooks    StoreHooks
	breaker  breaker

	mu      sync.Mutex
	outages []*outages // Of the budgets that this store counts, or counted.

	start   time.Time // Durations on the limiter's clock count from here.
	denials *denials  // Nil where the store is in this process.

	failing    atomic.Bool
	lastFailed atomic.Int64 // A duration on the limiter's clock.
}

func newGuard(name string, store Store, config *Config) *guard {
	g := &guard{name: name, store: store, timeout: config.timeout(name), now: config.Now}
	g.inside, _ = store.(InProcess)
	g.returner, _ = store.(Returner)
	g.start = g.now()
	if g.inside == nil {
		g.denials = newDenials()
	}
	if config.Hooks.Store != nil {
		g.hooks = config.Hooks.Store(name)
	}
	return g
}

// take asks the store.
func (g *guard) take(ctx context.Context, dst []Verdict, charges []Charge) ([]Verdict, error) {
	if g.inside != nil {
		return g.inside.AppendTake(dst, charges)
	}
	if err := CheckCharges(charges); err != nil {
		return dst, err
	}
	verdicts, err := g.takeGuarded(ctx, charges)
	return append(dst, verdicts...), err
}

func (g *guard) takeGuarded(ctx context.Context, charges []Charge) (verdicts []Verdict, err error) {
	err = g.call(ctx, writes(charges), func(ctx context.Context) error {
		verdicts, err = g.store.Take(ctx, charges)
		if err == nil && len(verdicts) != len(charges) {
			return fmt.Errorf("store answered %d verdicts to %d charges", len(verdicts), len(charges))
		}
		return err
	})
	return verdicts, err
}

// giveBack is not sent while the breaker is open: in doubt, not given back.
func (g *guard) giveBack(ctx context.Context, returns []Return) (units []int64, err error) {
	if g.inside != nil {
		return g.returner.GiveBack(ctx, returns)
	}
	defer g.forget()
	err = g.call(ctx, false, func(ctx context.Context) error {
		units, err = g.returner.GiveBack(ctx, returns)
		return err
	})
	return units, err
}

// reset forgets the key, and what was refused to it: after the store has, so that no denial from before is remembered.
func (g *guard) reset(ctx context.Context, key Key) error {
	defer g.forget()
	if g.inside != nil {
		return g.store.Reset(ctx, key)
	}
	return g.call(ctx, false, func(ctx context.Context) error { return g.store.Reset(ctx, key) })
}

// call makes one call, if the breaker lets it. The caller's cancellation does not reach the store: callers who hang up
// must not look like a store that fails.
func (g *guard) call(ctx context.Context, writes bool, ask func(context.Context) error) error {
	began := g.now()
	p := g.breaker.enter(began, writes)
	if p == refused {
		return errBreakerOpen
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.timeout)
	defer cancel()
	err := errPanicked // Of a store that does not return: the probe must not be thought under way for ever.
	defer func() {
		ended := g.now()
		if g.hooks.Asked != nil {
			g.hooks.Asked(ended.Sub(began), err)
		}
		g.leave(p, ended, writes, err)
	}()
	if err = ask(ctx); err != nil {
		return fmt.Errorf("ask store %s: %w", g.name, err)
	}
	return nil
}

func (g *guard) leave(p pass, now time.Time, writes bool, err error) {
	ok := err == nil
	if g.breaker.leave(p, now, writes, ok) && g.hooks.Breaker != nil {
		g.hooks.Breaker(!ok)
	}
	if ok && writes && g.failing.Load() {
		g.recovered(now)
	}
}

// failed notes that a decision had to do without the store.
func (g *guard) failed(now time.Time) {
	g.lastFailed.Store(int64(now.Sub(g.start)))
	g.failing.Store(true)
}

// recovered ends the outages once nothing has failed for a probe's period: a store that half works is one outage, not
// a line in the log for each call.
func (g *guard) recovered(now time.Time) {
	if now.Sub(g.start)-time.Duration(g.lastFailed.Load()) < probeEvery || !g.failing.CompareAndSwap(true, false) {
		return
	}
	g.endOutages(EndedByAnswer)
}

func (g *guard) endOutages(why Ending) {
	g.mu.Lock()
	watched := slices.Clone(g.outages)
	g.mu.Unlock()
	for _, o := range watched {
		o.end(why)
	}
}

// watch has the outages of a budget end when the store is back.
func (g *guard) watch(o *outages) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.outages, o) {
		g.outages = append(g.outages, o)
	}
}

// elapsed is the time on the limiter's clock.
func (g *guard) elapsed() time.Duration { return g.now().Sub(g.start) }

// mark is taken before a call whose denials may be remembered.
func (g *guard) mark() (m mark) {
	if g.denials != nil {
		m = mark{epoch: g.denials.epoch.Load(), began: g.elapsed()}
	}
	return m
}

// remember keeps what the store refused.
func (g *guard) remember(m mark, d *Decision) {
	if g.denials == nil {
		return
	}
	ended := g.elapsed()
	for i := range d.Results {
		if r := &d.Results[i]; r.Counted && r.Refused() {
			g.denials.remember(m, ended, r)
		}
	}
}

// repeat answers a decision from what the store refused a moment ago, and keeps the refusing budgets' results alone.
// A decision with shadows is always asked, because they are to be counted.
func (g *guard) repeat(d *Decision) bool {
	if g.denials == nil || !writesEnforced(d.Results) {
		return false
	}
	now, refusing := g.elapsed(), 0
	for i := range d.Results {
		if r := &d.Results[i]; r.Unlimited || r.cost <= 0 || !g.denials.recall(now, r) {
			continue
		}
		d.Results[i].Counted = true
		d.Results[refusing], d.Results[i] = d.Results[i], d.Results[refusing]
		refusing++
	}
	if refusing == 0 {
		return false
	}
	d.Outcome, d.Repeated, d.Results = Denied, true, d.Results[:refusing]
	return true
}

// forget drops what was refused, since something was given back or reset.
func (g *guard) forget() {
	if g.denials != nil {
		g.denials.forget()
	}
}

// writesEnforced says that the results ask for units and all of them are enforced.
func writesEnforced(results []Result) bool {
	writes := false
	for i := range results {
		if !results[i].Enforced {
			return false
		}
		writes = writes || results[i].cost > 0
	}
	return writes
}

func writes(charges []Charge) bool {
	for i := range charges {
		if charges[i].Cost > 0 {
			return true
		}
	}
	return false
}
