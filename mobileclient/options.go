package mobileclient

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An Option sets something of a new Client.
type Option func(*settings)

// WithTokenSource sends the source's tokens as bearer tokens. A token is kept until it nears its end or the server
// refuses it; then the source is asked once for all calls that wait.
func WithTokenSource(source TokenSource) Option {
	return func(s *settings) {
		s.checkf(source != nil, "WithTokenSource: the source is nil")
		s.source = source
	}
}

// WithHTTPClient sends through a copy of client: its transport, redirect policy, cookie jar and timeout. Without a
// redirect policy of its own redirects are not followed, since the API has none and they would carry a token elsewhere.
//
// To see what leaves, the mirror listens to [net/http/httptrace]. A transport of one's own that reports no such events
// is taken to have sent whatever it was given.
func WithHTTPClient(client *http.Client) Option {
	return func(s *settings) {
		s.checkf(client != nil, "WithHTTPClient: the client is nil")
		s.http = client
	}
}

// WithUserAgent sets the User-Agent of every request.
func WithUserAgent(agent string) Option {
	return func(s *settings) {
		s.checkf(agent != "" && !strings.ContainsAny(agent, "\r\n\x00"), "WithUserAgent: %q is not a header value", agent)
		s.userAgent = agent
	}
}

// WithAttemptTimeout bounds how long each attempt may take from leaving to the end of its answer (of an export: to its
// headers). It is 30 s unless set. The call's context bounds the whole call.
func WithAttemptTimeout(d time.Duration) Option {
	return func(s *settings) {
		s.checkf(d > 0, "WithAttemptTimeout: %v is not above 0", d)
		s.timeout = d
	}
}

// WithBudget mirrors other numbers than those of [api.Budgets] for a budget that the deployment has changed, or for
// [EndpointBudget]. More than the server's own limit breaks the promise.
func WithBudget(name string, limit int64, window time.Duration) Option {
	return func(s *settings) {
		known, ok := s.mirror.budgets[name]
		s.checkf(ok && !known.learned, "WithBudget: there is no mirrored budget %q: use one of %s", name, s.mirror.names())
		s.checkf(limit > 0 && window > 0, "WithBudget: limit %d and window %v of %q must be above 0", limit, window, name)
		s.mirror.budgets[name] = allowance{limit: limit, window: window, share: 1}
	}
}

// WithShare makes the client one of k that act for one person and share every budget by agreement: each takes a k-th part,
// rounded down. Of a budget smaller than k it has nothing, and calls that need it are refused.
func WithShare(k int) Option {
	return func(s *settings) {
		s.checkf(k > 0, "WithShare: %d is not above 0", k)
		s.share = k
	}
}

// WithGuard sets how much longer than the window a slot is held, as a fraction of the window: the most by which this
// machine's clock may run faster than the server's. It is 0.01 unless set.
func WithGuard(fraction float64) Option {
	return func(s *settings) {
		s.checkf(fraction >= 0 && fraction <= 1, "WithGuard: %v is outside 0 to 1", fraction)
		s.mirror.guard = fraction
	}
}

// WithLateGrace sets how long after the client gave up on an answer its request may still reach the server, in a proxy's
// queue for instance. It is 10 s unless set.
func WithLateGrace(d time.Duration) Option {
	return func(s *settings) {
		s.checkf(d >= 0, "WithLateGrace: %v is negative", d)
		s.mirror.grace = d
	}
}

// WithWait lets calls wait for their budgets, first come, first served, instead of being refused at once. A call that would
// have to wait longer than longest, or beyond its context's deadline, is refused at once all the same.
func WithWait(longest time.Duration) Option {
	return func(s *settings) {
		s.checkf(longest > 0, "WithWait: %v is not above 0", longest)
		s.mirror.patience = longest
	}
}

// WithRetryWait sets the longest wait before a retry; a call that would have to wait longer returns the error at once,
// with the wait in it. It is 5 s unless set. 0 turns retries off.
//
// Calls that may be repeated without harm, all but updates, are retried after network faults and the statuses 502 and 503, any
// call once after a 429: at most twice, after the server's Retry-After or a growing pause, and only while retries are rare among successes.
// A retry passes the mirror like a first try.
func WithRetryWait(longest time.Duration) Option {
	return func(s *settings) {
		s.checkf(longest >= 0, "WithRetryWait: %v is negative", longest)
		s.retryWait = longest
	}
}

// A CallOption sets something of one call.
type CallOption func(*callSettings)

// SkipRateLimit sends the call even if the mirror would refuse it. It is counted all the same, so that the mirror stays
// true: what follows may have to wait longer.
func SkipRateLimit() CallOption { return func(s *callSettings) { s.skipRateLimit = true } }

// IdempotencyKey names the call, so that it may be made again, by another process too, without being done again: within 24
// hours the server answers it with its first answer. Calls that create or parse bear a key of their own without it,
// the same on all tries; other calls take none. A key is 1 to 255 printable ASCII characters.
func IdempotencyKey(key string) CallOption {
	return func(s *callSettings) { s.key, s.ownKey = key, true }
}

type callSettings struct {
	skipRateLimit bool
	key           string
	// ownKey says that the caller chose the key.
	ownKey bool
}

type settings struct {
	source    TokenSource
	http      *http.Client
	userAgent string
	timeout   time.Duration
	retryWait time.Duration
	tries     int
	share     int
	observers []Observer
	mirror    mirrorSettings
	faults    []error
}

const (
	defaultTimeout   = 30 * time.Second
	defaultUserAgent = "mobileclient-go"
	// idlePerHost keeps the connections of a busy client open; net/http's own 2 would close nearly all of them.
	idlePerHost = 32
)

func newSettings() settings {
	return settings{userAgent: defaultUserAgent, timeout: defaultTimeout, retryWait: defaultRetryWait, tries: maxTries, share: 1, mirror: defaultMirror()}
}

func (s *settings) checkf(ok bool, format string, args ...any) {
	if !ok {
		s.faults = append(s.faults, fmt.Errorf(format, args...))
	}
}

func (s *settings) client(base string) *Client {
	c := &Client{
		base: base, contract: newCatalogue(), http: s.httpClient(), userAgent: s.userAgent, timeout: s.timeout,
		mirror: newMirror(s.mirror.shared(int64(s.share))), retries: newRetrier(s.retryWait, s.tries), observers: s.observers,
	}
	if s.source != nil {
		c.tokens = newTokens(s.source, c.mirror.now)
	}
	return c
}

func (s *settings) httpClient() *http.Client {
	client := http.Client{Transport: ownTransport()}
	if s.http != nil {
		client = *s.http
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	client.Transport = &transport{base: client.Transport}
	return &client
}

// ownTransport is net/http's default one with more idle connections. A program that replaced the default by a type of
// its own gets that.
func ownTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = idlePerHost
	return t
}
