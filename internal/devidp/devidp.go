// Package devidp is the development issuer: a small OpenID provider inside the server, with seeded people instead of
// passwords, so that sign-in works on one machine with nothing else running.
//
// It proves nobody's identity and must never be mounted in production. Its protocol is the real one, strictly: code
// flow with PKCE S256, exact redirects, codes and refresh tokens that work once, access tokens after RFC 9068. Its keys,
// codes and refresh tokens are in PostgreSQL, so that every replica can serve each step.
package devidp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/internal/store"
)

// Path is where the issuer is mounted below the server's public URL.
const Path = "/dev/idp"

// maxForm is the largest form that is read, in bytes. The longest legitimate one is a logout with its ID token.
const maxForm = 16 << 10

// Config is how a Provider is set up.
type Config struct {
	// Issuer is the issuer's own URL, without a trailing slash: the public URL and Path.
	Issuer string
	// Audience is the aud claim of access tokens: the API's name.
	Audience string
	// Clients may ask for tokens; see DefaultClients.
	Clients []Client
	// Transport carries what clients are told of logouts. Nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock of the times in tokens. Nil: time.Now.
	Now func() time.Time
	// Log gets the causes of answers 503. Nil: discarded.
	Log *slog.Logger
}

// A Provider is the issuer's handler. It answers everything below the path of its issuer URL.
type Provider struct {
	cfg      Config
	store    *store.Store
	base     string
	routes   map[string]route
	keys     keyring
	outgoing *http.Client
}

// A route is a handler with the methods that it takes.
type route struct {
	methods []string
	handle  http.HandlerFunc
}

// New makes a Provider. It does not need the database yet; the signing key is read, or made, when it is first needed.
func New(cfg Config, s *store.Store) (*Provider, error) {
	issuer, err := url.Parse(cfg.Issuer)
	switch {
	case err != nil || issuer.Host == "" || strings.HasSuffix(cfg.Issuer, "/"):
		return nil, fmt.Errorf("set up development issuer: %q is not an issuer URL (absolute, no trailing slash)", cfg.Issuer)
	case cfg.Audience == "":
		return nil, errors.New("set up development issuer: the audience is missing")
	case cfg.Now == nil:
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	p := &Provider{cfg: cfg, store: s, base: issuer.Path}
	p.keys = keyring{store: s, now: cfg.Now}
	p.outgoing = newClient(cfg.Transport)
	p.routes = p.table()
	return p, nil
}

// table is all that the issuer answers, by path below its URL.
func (p *Provider) table() map[string]route {
	get, both := []string{"GET", "HEAD"}, []string{"GET", "POST"}
	return map[string]route{
		"/.well-known/openid-configuration": {get, p.serveMetadata},
		"/keys":                             {get, p.serveKeys},
		"/authorize":                        {both, p.serveAuthorize},
		"/token":                            {[]string{"POST"}, p.serveToken},
		"/userinfo":                         {both, p.serveUserinfo},
		"/logout":                           {both, p.serveLogout},
	}
}

// ServeHTTP routes by exact path.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, p.base)
	found, ok := p.routes[path]
	if !below || !ok {
		writeError(w, http.StatusNotFound, "not_found", "the development issuer has no such page")
		return
	}
	if !slices.Contains(found.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(found.methods, ", "))
		writeError(w, http.StatusMethodNotAllowed, "invalid_request", "this page takes "+strings.Join(found.methods, " or "))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	found.handle(w, r)
}

// form reads the parameters of a request: the query of a GET, the body of a POST. OAuth forbids repeating one.
func form(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, errors.New("the parameters cannot be read")
	}
	values := r.Form
	if r.Method == http.MethodPost {
		values = r.PostForm
	}
	for name, all := range values {
		if len(all) > 1 {
			return nil, fmt.Errorf("the parameter %s is repeated", name)
		}
	}
	return values, nil
}
