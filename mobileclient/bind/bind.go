// Package bind is the SDK's face for gomobile, which turns it into Java and Objective-C: the same client in the few kinds
// of types that cross that boundary.
//
// What differs from mobileclient follows from the boundary. A call is cancelled through its Call instead of a context,
// lists have a length and an At, times are milliseconds since 1970 (0 is none), and an error arrives as an exception with
// its message only; ErrorDetails gives back the rest. A panic would end the app, so every entry turns one into an error.
package bind

import (
	"errors"
	"fmt"
	"time"

	"example.com/gatehouse/mobileclient"
)

// Options are what a client is made of. Only the base URL is needed.
type Options struct {
	BaseURL   string
	UserAgent string
	// AttemptTimeoutMillis bounds each attempt; 0 leaves the SDK's 30 s.
	AttemptTimeoutMillis int64
	// WaitMillis lets calls wait that long for their budgets; 0 refuses at once.
	WaitMillis int64
	// Share is how many devices share the person's budgets by agreement; 0 and 1 are this one alone.
	Share int
	// ServerLimits lets what the server says of its limits raise the client's, after an upgrade for instance.
	ServerLimits bool

	source TokenSource
}

// NewOptions begins the options of a client of the API at baseURL.
func NewOptions(baseURL string) *Options { return &Options{BaseURL: baseURL} }

// SetTokenSource has the client send the source's tokens.
func (o *Options) SetTokenSource(source TokenSource) { o.source = source }

// TokenSource gives a token that is good now. The app implements it.
type TokenSource interface {
	Token() (*Token, error)
}

// Token is a bearer token.
type Token struct {
	Value string
	// Subject says whose it is; empty, a JWT says it itself.
	Subject string
	// ExpiresInMillis is how long it is good for; 0 means until the server refuses it.
	ExpiresInMillis int64
}

// NewToken makes a token of a value.
func NewToken(value string) *Token { return &Token{Value: value} }

// Client calls the API as one person. It may be used by several threads at once.
type Client struct{ sdk *mobileclient.Client }

// NewClient makes a client. It sends nothing.
func NewClient(o *Options) (c *Client, err error) {
	defer recovered(&err)
	if o == nil {
		return nil, errors.New("the options are nil: make them with NewOptions")
	}
	sdk, err := mobileclient.New(o.BaseURL, o.all()...)
	if err != nil {
		return nil, err
	}
	return &Client{sdk: sdk}, nil
}

func (o *Options) all() []mobileclient.Option {
	var all []mobileclient.Option
	if o.UserAgent != "" {
		all = append(all, mobileclient.WithUserAgent(o.UserAgent))
	}
	if o.AttemptTimeoutMillis != 0 {
		all = append(all, mobileclient.WithAttemptTimeout(millis(o.AttemptTimeoutMillis)))
	}
	if o.WaitMillis != 0 {
		all = append(all, mobileclient.WithWait(millis(o.WaitMillis)))
	}
	if o.Share != 0 {
		all = append(all, mobileclient.WithShare(o.Share))
	}
	if o.ServerLimits {
		all = append(all, mobileclient.WithServerLimits())
	}
	if o.source != nil {
		all = append(all, mobileclient.WithTokenSource(adapt(o.source)))
	}
	return all
}

// recovered turns a panic into an error.
func recovered(err *error) { //nolint:gocritic // it sets the caller's result
	if v := recover(); v != nil {
		*err = fmt.Errorf("internal fault: %v", v)
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
