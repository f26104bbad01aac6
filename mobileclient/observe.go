package mobileclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"example.com/gatehouse/api"
)

// An Observer is told of every attempt, for logs and metrics. It is called by the goroutine of the call, after the attempt, by
// many at once.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// WithObserver tells an observer of every attempt. Several may be given.
func WithObserver(o Observer) Option {
	return func(s *settings) {
		s.checkf(o != nil, "WithObserver: the observer is nil")
		s.observers = append(s.observers, o)
	}
}

// An Event is one attempt of a call, or the refusal in its place. It holds no credential and no body.
type Event struct {
	// Route is the route's id, such as "tasks.parse", and Endpoint its path, such as "/api/v1/tasks/parse".
	Route, Endpoint string
	// Try is 1 for the first attempt.
	Try int
	// Waited is how long the attempt waited for its slots, and Took how long its answer's headers took from then on.
	Waited, Took time.Duration
	// Status is that of the answer, or of the local refusal; 0 without either.
	Status int
	// RequestID finds the attempt in the server's log; empty without an answer.
	RequestID string
	// Replayed says that the answer is that of an earlier attempt with the same idempotency key.
	Replayed bool
	// Err is the attempt's error; nil after a success.
	Err error
}

// Local says that the client refused and nothing was sent.
func (e Event) Local() bool { return isLocal(e.Err) }

// LogTo logs attempts: successes at debug level, refusals and failures at info level, since the call's caller gets them as errors.
func LogTo(log *slog.Logger) Observer { return logger{log} }

type logger struct{ log *slog.Logger }

func (l logger) Observe(ctx context.Context, e Event) {
	level := slog.LevelDebug
	attrs := []slog.Attr{
		slog.String("route", e.Route), slog.Int("try", e.Try), slog.Int("status", e.Status), slog.Bool("local", e.Local()),
		slog.Duration("waited", e.Waited), slog.Duration("took", e.Took),
	}
	if e.RequestID != "" {
		attrs = append(attrs, slog.String("request_id", e.RequestID))
	}
	if e.Err != nil {
		level = slog.LevelInfo
		attrs = append(attrs, slog.String("error", e.Err.Error()))
	}
	l.log.LogAttrs(ctx, level, "api call", attrs...)
}

// observe tells of an attempt that began to wait at entered and to send at left; never left is the zero time. resp is its
// success, nil without one.
func (c *Client) observe(ctx context.Context, call call, entered, left time.Time, resp *http.Response, err error) {
	if len(c.observers) == 0 {
		return
	}
	now := time.Now()
	e := Event{Route: call.route.ID, Endpoint: call.endpoint, Try: call.try, Waited: now.Sub(entered), Err: err}
	if !left.IsZero() {
		e.Waited, e.Took = left.Sub(entered), now.Sub(left)
	}
	if resp != nil {
		e.Status, e.RequestID = resp.StatusCode, resp.Header.Get(api.HeaderRequestID)
		e.Replayed = resp.Header.Get(api.HeaderIdempotencyReplayed) != ""
	}
	if answered, ok := errors.AsType[*Error](err); ok {
		e.Status, e.RequestID = answered.Status, answered.RequestID
	}
	for _, o := range c.observers {
		o.Observe(ctx, e)
	}
}
