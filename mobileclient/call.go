package mobileclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/gatehouse/api"
)

// A call is what one typed method asks for.
type call struct {
	route    api.Route
	endpoint string
	// charges are the budgets that the server charges behind the edge.
	charges []string
	path    string
	query   url.Values
	body    any
	// stream leaves the body of a success to the caller.
	stream   bool
	settings callSettings
	// try is 1 for the first attempt.
	try int
	// patience is how long the call waits for its slots, if longer than the mirror's own.
	patience time.Duration
	// fault is an argument that the server could only refuse.
	fault error
}

// A catalogue is the contract as calls to be filled in, by route id.
type catalogue map[string]call

func newCatalogue() catalogue {
	c := catalogue{}
	for _, r := range api.Routes() {
		c[r.ID] = call{route: r, endpoint: endpointOf(r), charges: r.Charges(), path: r.Path}
	}
	return c
}

// newCall begins a call of the route. A route that the contract does not have is a fault of this package.
func (c *Client) newCall(routeID string, opts []CallOption) call {
	call, ok := c.contract[routeID]
	if !ok {
		panic("mobileclient: the contract has no route " + routeID)
	}
	for _, opt := range opts {
		opt(&call.settings)
	}
	return call.named()
}

// named gives a call that takes an idempotency key one, the same for all of its tries.
func (c call) named() call {
	switch {
	case c.settings.ownKey && !c.route.TakesKey:
		c.fault = fmt.Errorf("%s takes no idempotency key: leave it out", c.route.ID)
	case c.settings.ownKey && !api.IsIdempotencyKey(c.settings.key):
		c.fault = fmt.Errorf("idempotency key %q: give 1 to %d printable ASCII characters", c.settings.key, api.MaxIdempotencyKey)
	case !c.settings.ownKey && c.route.TakesKey:
		c.settings.key = rand.Text()
	}
	return c
}

// of names the resource. An id of another form could turn the path into that of another route.
func (c call) of(id string) call {
	if !api.IsID(id) {
		c.fault = notAnID(c.endpoint, id)
	}
	c.path = c.route.URL(id)
	return c
}

func (c call) with(body any) call {
	c.body = body
	return c
}

// maxAnswer bounds a JSON answer in bytes: a page of the longest tasks, fully escaped, is about 13 MB.
const maxAnswer = 32 << 20

// maxProblem bounds the body of an error in bytes; the API's own have a few hundred.
const maxProblem = 1 << 20

// fetch makes a call whose answer is JSON.
func fetch[T any](ctx context.Context, c *Client, call call) (T, error) {
	var into T
	resp, err := c.open(ctx, call) //nolint:bodyclose // discard closes it
	if err != nil {
		return into, err
	}
	defer discard(resp.Body)
	body, err := readAll(resp.Body, maxAnswer)
	if err != nil {
		return into, fmt.Errorf("read answer of %s: %w", call.route.ID, err)
	}
	if !isJSON(resp) {
		return into, unreadable(resp, body, call.endpoint)
	}
	if err := json.Unmarshal(body, &into); err != nil {
		return into, fmt.Errorf("decode answer of %s: %w", call.route.ID, err)
	}
	return into, nil
}

// send makes a call whose answer has no body.
func (c *Client) send(ctx context.Context, call call) error {
	resp, err := c.open(ctx, call) //nolint:bodyclose // discard closes it
	if err != nil {
		return err
	}
	discard(resp.Body)
	return nil
}

// open makes a call and returns its success; the caller closes the body. An answer other than a success is an *Error.
func (c *Client) open(ctx context.Context, call call) (*http.Response, error) {
	if call.fault != nil {
		return nil, call.fault
	}
	body, err := call.encode()
	if err != nil {
		return nil, err
	}
	return c.tried(ctx, call, body)
}

// tried sends until an answer stands. A retry that cannot leave gives the answer before it: that is what happened.
func (c *Client) tried(ctx context.Context, call call, body []byte) (*http.Response, error) {
	var before error
	for call.try = 1; ; call.try++ {
		resp, err := c.authorised(ctx, call, body)
		if before != nil && isLocal(err) {
			return nil, before
		}
		wait, again := c.retries.next(call, err)
		if !again || !pause(ctx, wait) {
			return resp, err
		}
		before, call.patience = err, c.retries.longest
	}
}

func isLocal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Local
}

// authorised sends with a token, and once more with a new one if the server refuses it.
func (c *Client) authorised(ctx context.Context, call call, body []byte) (*http.Response, error) {
	cred, err := c.tokens.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("get token: %w", err)
	}
	resp, err := c.attempt(ctx, call, cred, body)
	if !refusedToken(cred, err) {
		return resp, err
	}
	fresh, failed := c.tokens.replace(ctx, cred)
	if failed != nil || fresh.token.Value == cred.token.Value {
		return nil, err // The server's own word says more than that there is no better token.
	}
	return c.attempt(ctx, call, fresh, body)
}

// refusedToken says that the server did not take the credential. It refuses before it does anything, so the same call
// may be made again with a new one, whatever its method.
func refusedToken(cred *credential, err error) bool {
	e, ok := errors.AsType[*Error](err)
	return cred != nil && ok && e.Status == http.StatusUnauthorized
}

func (c call) encode() ([]byte, error) {
	if c.body == nil {
		return nil, nil
	}
	body, err := json.Marshal(c.body)
	if err != nil {
		return nil, fmt.Errorf("encode body of %s: %w", c.route.ID, err)
	}
	return body, nil
}

// attempt sends once. The slots are taken here, before any timer runs, and settled by the transport.
func (c *Client) attempt(ctx context.Context, call call, cred *credential, body []byte) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entered := time.Now()
	t, err := c.mirror.acquire(ctx, call, cred)
	if err != nil {
		c.observe(ctx, call, entered, time.Time{}, nil, err)
		return nil, err
	}
	defer t.abandon()
	left := time.Now()
	bounded, stop := c.bounded(ctx)
	resp, err := c.exchange(withTicket(bounded, t), call, cred, body)
	if err != nil {
		stop.all()
		c.observe(ctx, call, entered, left, nil, err)
		return nil, err
	}
	c.observe(ctx, call, entered, left, resp, nil)
	if call.stream {
		stop.timer()
	}
	resp.Body = &closer{ReadCloser: resp.Body, done: stop.all}
	return resp, nil
}

func (c *Client) exchange(ctx context.Context, call call, cred *credential, body []byte) (*http.Response, error) {
	req, err := c.request(ctx, call, cred, body)
	if err != nil {
		return nil, fmt.Errorf("make request for %s: %w", call.route.ID, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, explain(ctx, call, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer discard(resp.Body)
	// An error's body that breaks off or never ends leaves its status and its beginning, which say enough.
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	return nil, problemError(resp, answer, call.endpoint)
}

func (c *Client) request(ctx context.Context, call call, cred *credential, body []byte) (*http.Request, error) {
	target := c.base + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, call.route.Method, target, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", call.accept())
	req.Header.Set("User-Agent", c.userAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if call.settings.key != "" {
		req.Header.Set(api.HeaderIdempotencyKey, call.settings.key)
	}
	if cred != nil {
		req.Header.Set("Authorization", "Bearer "+cred.token.Value)
	}
	return req, nil
}

func (c call) accept() string {
	if c.route.ContentType != "" {
		return c.route.ContentType + ", " + api.ContentTypeProblem
	}
	return "application/json, " + api.ContentTypeProblem
}

// explain strips what net/http wraps around an error of the client's own, and says of others which call failed. The
// query is left out: a cursor says nothing to people.
func explain(ctx context.Context, call call, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
		return networkError{fmt.Errorf("%s: %w", call.route.ID, cause)}
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	err = fmt.Errorf("%s %s: %w", call.route.Method, call.path, err)
	if ctx.Err() != nil {
		return err
	}
	return networkError{err}
}

var errNoAnswer = errors.New("no answer in time")

// A stopper ends what bounds an attempt: its timer, or timer and context.
type stopper struct{ timer, all func() }

// bounded is ctx with the attempt's timeout. A timeout is errors.Is context.DeadlineExceeded, as a deadline of ctx is.
func (c *Client) bounded(ctx context.Context) (context.Context, stopper) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := fmt.Errorf("%w: %v have passed: %w", errNoAnswer, c.timeout, context.DeadlineExceeded)
	timer := time.AfterFunc(c.timeout, func() { cancel(late) })
	return ctx, stopper{
		timer: func() { timer.Stop() },
		all:   func() { timer.Stop(); cancel(context.Canceled) },
	}
}

type closer struct {
	io.ReadCloser
	done func()
}

func (c *closer) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

// drained is how much of an unread body is read to keep its connection; more costs more than a new connection.
const drained = 64 << 10

func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, drained)
	_ = body.Close()
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > most {
		return nil, fmt.Errorf("the answer is larger than %d bytes", most)
	}
	return body, nil
}

// endpointOf is the key of a route's per-endpoint budget: its path with every parameter as ":id".
func endpointOf(r api.Route) string {
	parts := strings.Split(r.Path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = placeholder
		}
	}
	return strings.Join(parts, "/")
}
