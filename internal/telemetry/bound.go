package telemetry

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Route counts the requests of one route template.
type Route struct {
	requests *prometheus.CounterVec
	duration prometheus.Observer
}

// Route binds the counters of one route, named by its template ("unmatched" for none), never by a request's path.
func (m *Metrics) Route(template string) Route {
	return Route{
		requests: m.requests.MustCurryWith(prometheus.Labels{"route": template}),
		duration: m.durations.WithLabelValues(template),
	}
}

// Done counts one request that was served.
func (r Route) Done(method string, status int, took time.Duration) {
	r.requests.WithLabelValues(methodLabel(method), statusLabel(status)).Inc()
	r.duration.Observe(took.Seconds())
}

// methodLabel maps what a client may choose freely to what routes have.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return other
	}
}

func statusLabel(status int) string {
	if status < 100 || status > 599 {
		return other
	}
	return strconv.Itoa(status)
}

// A Budget counts the verdicts of one budget. Its methods are the limiter's hooks.
type Budget struct {
	allowed, denied, wouldDeny, failedOpen, countedLocally, failedClosed prometheus.Counter

	letThrough, givenBack prometheus.Counter
	degraded              prometheus.Gauge
}

// Budget binds the counters of one budget; mode is what it does when its store fails: "open", "local" or "closed".
func (m *Metrics) Budget(name, mode string) Budget {
	outcome := func(outcome string) prometheus.Counter { return m.decisions.WithLabelValues(name, outcome) }
	return Budget{
		allowed:        outcome("allowed"),
		denied:         outcome("denied"),
		wouldDeny:      outcome("would_deny"),
		failedOpen:     outcome("failed_open"),
		countedLocally: outcome("counted_locally"),
		failedClosed:   outcome("failed_closed"),
		letThrough:     m.failOpen.WithLabelValues(name),
		givenBack:      m.givenBack.WithLabelValues(name),
		degraded:       m.degraded.WithLabelValues(name, mode),
	}
}

// Allowed counts a charge that fitted.
func (b Budget) Allowed() { b.allowed.Inc() }

// Denied counts a refusal.
func (b Budget) Denied() { b.denied.Inc() }

// WouldDeny counts what a shadow budget would have refused.
func (b Budget) WouldDeny() { b.wouldDeny.Inc() }

// FailedOpen counts a request that was let through because the store failed, among the verdicts and by itself: it is
// what an alert is about.
func (b Budget) FailedOpen() {
	b.failedOpen.Inc()
	b.letThrough.Inc()
}

// CountedLocally counts a charge that this process counted in its memory because the store failed.
func (b Budget) CountedLocally() { b.countedLocally.Inc() }

// FailedClosed counts a request that was turned away because the store failed.
func (b Budget) FailedClosed() { b.failedClosed.Inc() }

// GivenBack counts units that were given back.
func (b Budget) GivenBack(units int64) { b.givenBack.Add(float64(max(0, units))) }

// Degraded says whether the budget's mode decides at present.
func (b Budget) Degraded(yes bool) { b.degraded.Set(float(yes)) }

// A Store watches one counter store. Its methods are the limiter's hooks.
type Store struct {
	duration prometheus.Observer
	errors   *prometheus.CounterVec
	breaker  prometheus.Gauge
}

// Store binds what watches one counter store.
func (m *Metrics) Store(name string) Store {
	s := Store{
		duration: m.asked.WithLabelValues(name),
		errors:   m.storeErrs.MustCurryWith(prometheus.Labels{"store": name}),
		breaker:  m.breakers.WithLabelValues(name),
	}
	for _, reason := range []string{"timeout", "refused", "connection", other} {
		s.errors.WithLabelValues(reason)
	}
	return s
}

// Asked counts one call to the store: how long it took, and what went wrong, if anything.
func (s Store) Asked(took time.Duration, err error) {
	s.duration.Observe(took.Seconds())
	if err != nil {
		s.errors.WithLabelValues(reason(err)).Inc()
	}
}

// Breaker says whether the store's breaker is open.
func (s Store) Breaker(open bool) { s.breaker.Set(float(open)) }

// reason sorts an error into few kinds: no answer in time, nobody listening, a connection that broke, all else.
func reason(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &network):
		return "connection"
	default:
		return other
	}
}

func float(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
