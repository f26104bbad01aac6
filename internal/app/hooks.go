package app

import (
	"sync"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/telemetry"
)

// limiterHooks tie the limiter to metrics and log. An outage is logged once when it begins, and once with its count when it ends.
func (s *server) limiterHooks() ratelimit.Hooks {
	var bound budgetMetrics
	return ratelimit.Hooks{
		Budget: func(b *ratelimit.Budget) ratelimit.BudgetHooks {
			m := s.metrics.Budget(b.Name, b.OnFailure.String())
			bound.keep(b, m)
			return ratelimit.BudgetHooks{
				Allowed: m.Allowed, Denied: m.Denied, WouldDeny: m.WouldDeny,
				FailedOpen: m.FailedOpen, CountedLocally: m.CountedLocally, FailedClosed: m.FailedClosed, GivenBack: m.GivenBack,
			}
		},
		Store: func(name string) ratelimit.StoreHooks {
			m := s.metrics.Store(name)
			return ratelimit.StoreHooks{Asked: m.Asked, Breaker: m.Breaker}
		},
		OutageBegan: func(o ratelimit.Outage) {
			bound.of(o.Budget).Degraded(true)
			s.log.Warn("limiter store fails", "budget", o.Budget.Name, "store", o.Budget.Store, "mode", o.Budget.OnFailure.String(), "error", o.Err)
		},
		OutageEnded: func(o ratelimit.Outage) {
			bound.of(o.Budget).Degraded(false)
			s.logOutageEnd(o)
		},
		KeyFault: func(b *ratelimit.Budget, key ratelimit.Key, err error) {
			row, _ := api.BudgetNamed(b.Name)
			s.log.Error("a stored counter cannot be read; reset it", "budget", b.Name, "per", row.Per, "key", key.ID,
				"store", b.Store, "mode", b.OnFailure.String(), "error", err)
		},
	}
}

func (s *server) logOutageEnd(o ratelimit.Outage) {
	log := s.log.With("budget", o.Budget.Name, "store", o.Budget.Store,
		"decided_by_mode", o.Decisions, "lasted", time.Since(o.Began).Round(time.Millisecond).String())
	switch o.Ended {
	case ratelimit.EndedByClose:
		log.Warn("limiter store still fails as the server ends")
	case ratelimit.EndedByChange:
		log.Warn("limiter store failed until the budget's store or mode was changed")
	default:
		log.Warn("limiter store is back")
	}
}

// watchDatabase adds the pool of connections to the database to the metrics.
func (s *server) watchDatabase() error {
	return s.metrics.WatchPool("postgresql", func() telemetry.Pool {
		p := s.store.Stats()
		return telemetry.Pool{InUse: p.InUse, Idle: p.Idle, Max: p.Max, Waits: p.Waits, Waited: p.Waited, GivenUp: p.GivenUp}
	})
}

// watchRedis adds the limiter's pool of connections to the metrics.
func (s *server) watchRedis() error {
	return s.metrics.WatchPool("redis", func() telemetry.Pool {
		p := s.redis.Stats()
		return telemetry.Pool{
			InUse: p.Open - p.Idle, Idle: p.Idle, Max: p.Max, Waits: int64(p.Waits), Waited: p.Waited, GivenUp: int64(p.Timeouts),
		}
	})
}

// budgetMetrics are the metrics of each budget and mode, which are bound at start and at each reading of the budgets' file.
type budgetMetrics struct{ bound sync.Map }

type budgetMode struct {
	name string
	mode ratelimit.Mode
}

func (m *budgetMetrics) keep(b *ratelimit.Budget, metrics telemetry.Budget) {
	m.bound.Store(budgetMode{b.Name, b.OnFailure}, metrics)
}

func (m *budgetMetrics) of(b *ratelimit.Budget) telemetry.Budget {
	metrics, _ := m.bound.Load(budgetMode{b.Name, b.OnFailure})
	return metrics.(telemetry.Budget) //nolint:forcetypeassert // Each was kept before anything could be decided by it.
}

func (s *server) authHooks() auth.Hooks {
	return auth.Hooks{
		SessionLookup: s.metrics.SessionLookups.Inc, TokenCheck: s.metrics.TokenChecks.Inc,
		KeyFetch: s.metrics.KeyFetches.Inc, KeyFetchSpared: s.metrics.KeyFetchesSpared.Inc, SignIn: s.metrics.SignIn,
		Revoked: s.known.RemoveUser,
	}
}

func (s *server) httpHooks() httpapi.Hooks {
	routes := routeMetrics{metrics: s.metrics}
	return httpapi.Hooks{
		UntrustedForward:  s.warnOfForwards(),
		Observe:           routes.observe,
		InFlight:          func(delta int) { s.metrics.InFlight.Add(float64(delta)) },
		UnreadableAddress: s.metrics.UnreadableAddresses.Inc,
	}
}

// allowancesUnread says that overrides could not be read: those last known apply.
func (s *server) allowancesUnread(err error) {
	s.log.Warn("overrides could not be read; those last known apply", "error", err)
}

// allowancePassedOver says that a number of a plan or an override makes no limit, so that the weaker source decides.
func (s *server) allowancePassedOver(scope, subject, budget string, err error) {
	s.log.Warn("a number that cannot be kept is passed over", "scope", scope, "id", subject, "budget", budget, "error", err)
}

func (s *server) counterStats() httpapi.CounterStats {
	stats := s.memory.Stats()
	return httpapi.CounterStats{Keys: stats.Keys, Evicted: stats.Evicted}
}

// warnOfForwards says once that a proxy seems to be in front that nobody told of: everybody behind it shares its address.
// Strangers may send the header too, so with proxies set it means nothing.
func (s *server) warnOfForwards() func() {
	if len(s.cfg.TrustedProxies) > 0 {
		return nil
	}
	return sync.OnceFunc(func() {
		s.log.Warn("requests come with X-Forwarded-For, and TRUSTED_PROXIES is empty",
			"fix", "if a proxy is in front, all callers share its address and its budget: set TRUSTED_PROXIES to the proxy's address")
	})
}

// routeMetrics binds the counters of each route when it is first asked for. Routes are templates, so there are few.
type routeMetrics struct {
	metrics *telemetry.Metrics
	bound   sync.Map // of telemetry.Route by template
}

func (r *routeMetrics) observe(route, method string, status int, took time.Duration) {
	bound, ok := r.bound.Load(route)
	if !ok {
		bound, _ = r.bound.LoadOrStore(route, r.metrics.Route(route))
	}
	bound.(telemetry.Route).Done(method, status, took) //nolint:forcetypeassert // Nothing else is put there.
}
