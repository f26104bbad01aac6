package devidp

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// A Client may ask the issuer for tokens.
type Client struct {
	ID string
	// Secret makes the client a confidential one; empty: public.
	Secret string
	// Redirects are where codes are sent, compared exactly. A registered loopback address without a port matches any
	// port, since a native app listens where it finds a free one (RFC 8252).
	Redirects []string
	// PostLogout are where the browser may be sent after logout, compared exactly.
	PostLogout []string
	// Backchannel is where the client is told that somebody has signed out here; empty: it is not.
	Backchannel string
}

// DefaultClients are the server's own web client, with its secret, a mobile app and the command line.
func DefaultClients(publicURL *url.URL, webSecret string) []Client {
	return []Client{
		{
			ID: "web", Secret: webSecret,
			Redirects:  []string{publicURL.JoinPath("/api/v1/auth/callback").String()},
			PostLogout: []string{publicURL.JoinPath("/").String()},

			Backchannel: publicURL.JoinPath("/api/v1/auth/backchannel").String(),
		},
		{
			ID: "mobile",
			Redirects: []string{
				"com.example.app:/signin", "http://127.0.0.1/signin", "http://[::1]/signin",
			},
			PostLogout: []string{"com.example.app:/"},
		},
		{ID: "cli", Redirects: []string{cliRedirect, "http://[::1]/callback"}},
	}
}

func (p *Provider) client(id string) (Client, bool) {
	i := slices.IndexFunc(p.cfg.Clients, func(c Client) bool { return c.ID == id })
	if i < 0 {
		return Client{}, false
	}
	return p.cfg.Clients[i], true
}

// allowsRedirect says whether codes may be sent to target.
func (c Client) allowsRedirect(target string) bool {
	return slices.ContainsFunc(c.Redirects, func(registered string) bool {
		return registered == target || isLoopbackMatch(registered, target)
	})
}

// isLoopbackMatch says whether target is the registered loopback address with a port added, and nothing else changed.
func isLoopbackMatch(registered, target string) bool {
	r, err := url.Parse(registered)
	if err != nil || r.Scheme != "http" || r.Port() != "" || !isLoopback(r.Hostname()) {
		return false
	}
	t, err := url.Parse(target)
	if err != nil || t.Hostname() != r.Hostname() || t.Port() == "" {
		return false
	}
	r.Host = t.Host
	return r.String() == target
}

func isLoopback(host string) bool { return host == "127.0.0.1" || host == "::1" }

// authenticateClient reads who asks for tokens: HTTP basic authentication or the form's client_id and client_secret,
// not both. A public client has no secret and must send none.
func (p *Provider) authenticateClient(r *http.Request, values url.Values) (Client, error) {
	id, secret := values.Get("client_id"), values.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		if secret != "" {
			return Client{}, errors.New("the client authenticates in two ways")
		}
		var err error
		if id, secret, err = unescapeBoth(user, password); err != nil {
			return Client{}, err
		}
	}
	c, ok := p.client(id)
	if !ok || subtle.ConstantTimeCompare([]byte(secret), []byte(c.Secret)) != 1 {
		return Client{}, errors.New("the client is unknown or its secret is wrong")
	}
	return c, nil
}

// unescapeBoth undoes the form encoding that OAuth puts on both halves of basic authentication.
func unescapeBoth(user, password string) (string, string, error) {
	id, err := url.QueryUnescape(user)
	secret, err2 := url.QueryUnescape(password)
	return id, secret, errors.Join(err, err2)
}
