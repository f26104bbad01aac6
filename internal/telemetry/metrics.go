package telemetry

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is all that the server counts. What has labels is bound once at start by Route, Budget and Store, so that
// counting on a request's way is an addition; the plain counters' Inc methods serve as hooks as they are.
//
// Labels take few values: routes are templates, and what a client chooses (a method, say) is mapped to a fixed list.
type Metrics struct {
	InFlight prometheus.Gauge // requests being served

	UnreadableAddresses prometheus.Counter // requests whose address shares the one bucket of the unreadable
	MemoryEvictions     prometheus.Counter // keys that the memory store dropped because it was full

	SessionLookups   prometheus.Counter // look-ups of a session in the database
	TokenChecks      prometheus.Counter // checks of a bearer token's signature
	KeyFetches       prometheus.Counter // fetches of the issuer's key set
	KeyFetchesSpared prometheus.Counter // fetches that the last good key set made unnecessary

	registry  *prometheus.Registry
	requests  *prometheus.CounterVec   // route, method, status
	durations *prometheus.HistogramVec // route
	decisions *prometheus.CounterVec   // budget, outcome
	givenBack *prometheus.CounterVec   // budget
	failOpen  *prometheus.CounterVec   // budget
	degraded  *prometheus.GaugeVec     // budget, mode
	asked     *prometheus.HistogramVec // store
	storeErrs *prometheus.CounterVec   // store, reason
	breakers  *prometheus.GaugeVec     // store
	tables    *prometheus.GaugeVec     // hash
	disagree  prometheus.Gauge
	signIns   *prometheus.CounterVec // outcome
	database  prometheus.Gauge
}

// New returns metrics in a registry of their own, the Go runtime's and the process's included.
func New() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m := &Metrics{
		registry: r,

		InFlight:  gauge(r, "http_in_flight", "Requests being served."),
		requests:  counters(r, "http_requests_total", "Requests by route template, method and status.", "route", "method", "status"),
		durations: histograms(r, "http_request_duration_seconds", "Time to serve a request.", requestSeconds(), "route"),

		decisions: counters(r, "ratelimit_decisions_total", "Verdicts by budget.", "budget", "outcome"),
		givenBack: counters(r, "ratelimit_given_back_total", "Units given back.", "budget"),
		failOpen:  counters(r, "ratelimit_fail_open_total", "Requests let through because a budget's store failed.", "budget"),
		degraded:  gauges(r, "ratelimit_degraded", "1 while a budget's mode decides because its store failed.", "budget", "mode"),
		asked:     histograms(r, "ratelimit_store_duration_seconds", "Time that a counter store took to answer or fail.", storeSeconds(), "store"),
		storeErrs: counters(r, "ratelimit_store_errors_total", "Failures of a counter store.", "store", "reason"),
		breakers:  gauges(r, "ratelimit_store_breaker_open", "1 while a counter store is not asked because it failed.", "store"),

		tables:   gauges(r, "ratelimit_table_info", "1 for the hash of what this process decides by: its budgets and trusted proxies.", "hash"),
		disagree: gauge(r, "ratelimit_disagreeing_tables", "Hashes of other live processes of the database that are not this one's."),

		database: gauge(r, "database_up", "1 while the database answers; it is asked each second."),

		UnreadableAddresses: counter(r, "ratelimit_unreadable_addresses_total", "Requests whose address could not be read."),
		MemoryEvictions:     counter(r, "ratelimit_memory_evictions_total", "Live keys dropped because the memory store was full."),

		SessionLookups:   counter(r, "auth_session_lookups_total", "Look-ups of a session in the database."),
		TokenChecks:      counter(r, "auth_token_checks_total", "Checks of a bearer token's signature."),
		KeyFetches:       counter(r, "auth_key_fetches_total", "Fetches of the issuer's key set."),
		KeyFetchesSpared: counter(r, "auth_key_fetches_spared_total", "Fetches of the key set that were not needed."),
		signIns:          counters(r, "auth_sign_ins_total", "Sign-ins that ended, by outcome.", "outcome"),
	}
	for _, outcome := range signInOutcomes() {
		m.signIns.WithLabelValues(outcome)
	}
	return m
}

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Watch adds a gauge that is read when metrics are: the size of a table or a pool. Read must be safe for concurrent
// use. The error is a name that is taken or is none.
func (m *Metrics) Watch(name, help string, read func() float64) error {
	watched := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	if err := m.registry.Register(watched); err != nil {
		return fmt.Errorf("watch %s: %w", name, err)
	}
	return nil
}

// WatchKnownCallers adds the number of returning callers that this process knows.
func (m *Metrics) WatchKnownCallers(count func() int) error {
	return m.Watch("ratelimit_known_callers", "Credentials of returning callers that this process knows.",
		func() float64 { return float64(count()) })
}

// DatabaseUp says whether the database answered when it was asked last.
func (m *Metrics) DatabaseUp(yes bool) { m.database.Set(float(yes)) }

// TableInfo says by which table this process decides.
func (m *Metrics) TableInfo(hash string) {
	m.tables.Reset()
	m.tables.WithLabelValues(hash).Set(1)
}

// Disagreeing says by how many other tables live processes of the same database decide.
func (m *Metrics) Disagreeing(tables int) { m.disagree.Set(float64(tables)) }

// SignIn counts the end of one sign-in; outcome is "ok" or the code of its failure.
func (m *Metrics) SignIn(outcome string) {
	if !slices.Contains(signInOutcomes(), outcome) {
		outcome = other
	}
	m.signIns.WithLabelValues(outcome).Inc()
}

// signInOutcomes are the codes of internal/auth.
func signInOutcomes() []string {
	return []string{"ok", "expired", "denied", "refused", "invalid", "unavailable"}
}

// requestSeconds are bucket bounds from a refusal in memory to a model's answer.
func requestSeconds() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// storeSeconds are bucket bounds up to above the tens of milliseconds that a store is given.
func storeSeconds() []float64 {
	return []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25}
}

// other is the label of whatever is not in a fixed list.
const other = "other"

func counter(r *prometheus.Registry, name, help string) prometheus.Counter {
	return registered(r, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

func counters(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	return registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

func gauge(r *prometheus.Registry, name, help string) prometheus.Gauge {
	return registered(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

func gauges(r *prometheus.Registry, name, help string, labels ...string) *prometheus.GaugeVec {
	return registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

func histograms(r *prometheus.Registry, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// registered panics on a name that is taken, which is a fault of the list in New and nothing else.
func registered[C prometheus.Collector](r *prometheus.Registry, c C) C {
	r.MustRegister(c)
	return c
}
