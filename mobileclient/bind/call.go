package bind

import (
	"context"
	"errors"

	"example.com/gatehouse/mobileclient"
)

// Call is one call's means of control; every method takes one, or none. It is good for one call.
type Call struct {
	// SkipRateLimit sends even if the client would refuse.
	SkipRateLimit bool
	// IdempotencyKey names a call that creates or parses, so that it may be made again, after a restart of the app too,
	// without being done again; empty lets the client choose one for the call's own tries.
	IdempotencyKey string

	ctx    context.Context //nolint:containedctx // a context cannot cross the boundary
	cancel context.CancelFunc
}

// NewCall makes the control of one call.
func NewCall() *Call {
	ctx, cancel := context.WithCancel(context.Background())
	return &Call{ctx: ctx, cancel: cancel}
}

// Cancel ends the call, from any thread. It may be called before the call begins and after it has ended.
func (c *Call) Cancel() {
	if c != nil && c.cancel != nil {
		c.cancel()
	}
}

// context is that of the call; of none, one without an end.
func (c *Call) context() context.Context {
	if c == nil || c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

func (c *Call) options() []mobileclient.CallOption {
	if c == nil {
		return nil
	}
	var options []mobileclient.CallOption
	if c.SkipRateLimit {
		options = append(options, mobileclient.SkipRateLimit())
	}
	if c.IdempotencyKey != "" {
		options = append(options, mobileclient.IdempotencyKey(c.IdempotencyKey))
	}
	return options
}

// adapt asks the app. Its exception comes as an error; its null is one here.
func adapt(source TokenSource) mobileclient.TokenSource {
	return func(context.Context) (mobileclient.Token, error) {
		t, err := source.Token()
		if err != nil {
			return mobileclient.Token{}, err
		}
		if t == nil {
			return mobileclient.Token{}, errors.New("the token source gave null")
		}
		return mobileclient.Token{Value: t.Value, Subject: t.Subject, ExpiresIn: millis(t.ExpiresInMillis)}, nil
	}
}
