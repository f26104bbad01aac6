package mobileclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"example.com/gatehouse/api"
)

const (
	// maxTries is how often a call is sent at most.
	maxTries = 3
	// firstBackoff is the wait before the first retry where the server names none; it doubles with each.
	firstBackoff = 200 * time.Millisecond
	// defaultRetryWait is the longest wait before a retry: as long as a 503 asks for.
	defaultRetryWait = api.UnavailableRetryAfter
	// maxJitter is the most that is added to a wait, so that clients refused together do not come back together.
	maxJitter = 2 * time.Second
	// A retry costs retryCost, an answer earns 1 back, and no more than retryCapacity is saved: ten retries in a row, and
	// one for ten answers for good. So a server that is down is asked little more than once a call.
	retryCost     = 10
	retryCapacity = 10 * retryCost
)

// A retrier decides whether a call is sent again. Its budget of retries is one for all calls of the client.
type retrier struct {
	longest time.Duration // The longest wait; a retry that would have to wait longer is left to the caller.
	tries   int

	mu    sync.Mutex
	saved int
}

func newRetrier(longest time.Duration, tries int) *retrier {
	return &retrier{longest: longest, tries: tries, saved: retryCapacity}
}

// next says after which wait the call is to be sent again, if at all. Every retry passes the mirror like a first try.
func (r *retrier) next(call call, err error) (time.Duration, bool) {
	if healthy(err) {
		r.earn()
		return 0, false
	}
	if call.try >= r.tries || !retriable(call, err) {
		return 0, false
	}
	wait := firstBackoff << (call.try - 1)
	if e, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, e.Wait())
	}
	if wait > r.longest || !r.spend() {
		return 0, false
	}
	return wait + jitter(wait), true
}

// healthy says that the server did its work, also where its answer is that it cannot do what was asked.
func healthy(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return err == nil || ok && !e.Local && e.Status < 500 && e.Status != http.StatusTooManyRequests && !isAtWork(e)
}

// isAtWork says that the server is answering an earlier try with the same idempotency key.
func isAtWork(e *Error) bool { return e.Code == api.CodeConflict && e.Details.RetryAfter > 0 }

// retriable says whether another try could help and can do no harm: what may have been done already is repeated only
// where that changes nothing. A 429 did nothing, so any call may follow it, once. What the client refused itself, or the
// caller ended, is not repeated.
func retriable(call call, err error) bool {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok:
		return call.idempotent() && isNetworkError(err)
	case e.Local:
		return false
	case e.Code == api.CodeRateLimitExceeded:
		return call.try == 1 && e.Details.RetryAfter > 0
	case isAtWork(e):
		return call.settings.key != ""
	case e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable:
		return call.idempotent()
	}
	return false
}

// idempotent says that doing the call twice is doing it once: by its method, or because the server knows it by its key.
func (c call) idempotent() bool {
	switch c.route.Method {
	case http.MethodGet, http.MethodDelete, http.MethodPut:
		return true
	}
	return c.settings.key != ""
}

// A networkError is an attempt's end without an answer that neither the caller nor the client itself brought about.
type networkError struct{ error }

func (e networkError) Unwrap() error { return e.error }

func isNetworkError(err error) bool {
	_, ok := errors.AsType[networkError](err)
	return ok
}

func (r *retrier) earn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = min(r.saved+1, retryCapacity)
}

func (r *retrier) spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.saved < retryCost {
		return false
	}
	r.saved -= retryCost
	return true
}

// jitter only adds: whoever comes before Retry-After is refused again.
func jitter(wait time.Duration) time.Duration {
	return rand.N(min(max(wait/4, time.Millisecond), maxJitter)) //nolint:gosec // jitter need not be unpredictable
}

// pause waits, and is false where the context ends first; a deadline that lies before the end of the wait ends it at once.
func pause(ctx context.Context, wait time.Duration) bool {
	if until, ok := ctx.Deadline(); ok && time.Until(until) < wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
