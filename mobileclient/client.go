package mobileclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/gatehouse/api"
)

// A Client calls the API as one person. It is safe for concurrent use, and must be shared: two Clients of one person
// spend the same budgets without knowing of each other.
type Client struct {
	base      string
	contract  catalogue
	http      *http.Client
	userAgent string
	timeout   time.Duration
	tokens    *tokens // nil for a client without a credential.
	mirror    *mirror
	retries   *retrier
	observers []Observer
}

// New returns a client of the API at baseURL, such as "https://app.example.com". It sends nothing. The error names
// every faulty argument.
func New(baseURL string, opts ...Option) (*Client, error) {
	base, err := parseBase(baseURL)
	s := newSettings()
	for _, opt := range opts {
		opt(&s)
	}
	if err := errors.Join(append(s.faults, err)...); err != nil {
		return nil, err
	}
	return s.client(base), nil
}

// CloseIdleConnections closes connections that no call is using. The client remains usable.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

func parseBase(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("parse base URL: %w", withoutURL(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("base URL %q: give scheme and host, such as https://app.example.com", text)
	case u.User != nil:
		return "", errors.New("base URL holds a user or password: give credentials with WithTokenSource")
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("base URL %q: leave out query and fragment", text)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), api.BasePath):
		return "", fmt.Errorf("base URL %q: leave out %s, the client adds it", text, api.BasePath)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// withoutURL keeps a password that an unreadable URL may hold out of logs.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
