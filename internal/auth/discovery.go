package auth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// The first and the longest wait between two attempts at discovery.
const (
	discoverFirst = time.Second
	discoverMost  = time.Minute
)

// callbackPath is where the issuer sends the browser back to, below the public URL.
const callbackPath = "/api/v1/auth/callback"

// A provider is what discovery learned. It is published whole, once.
type provider struct {
	oauth        oauth2.Config
	idTokens     *oidc.IDTokenVerifier
	accessTokens *oidc.IDTokenVerifier
	// endSession is the issuer's logout page; empty if it has none.
	endSession string
	// namesItself says that the issuer adds iss to each callback (RFC 9207), so that one without it is not the issuer's.
	namesItself bool
}

// metadata is the part of the discovery document that go-oidc does not keep.
type metadata struct {
	KeySet      string   `json:"jwks_uri"`
	EndSession  string   `json:"end_session_endpoint"`
	NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Algorithms  []string `json:"id_token_signing_alg_values_supported"`
}

// discover tries until it succeeds, ctx ends, or the issuer turns out to be another.
func (a *Auth) discover(ctx context.Context) error {
	for wait := discoverFirst; ; wait = min(2*wait, discoverMost) {
		p, err := a.discoverOnce(ctx)
		if err == nil {
			a.provider.Store(p)
			a.cfg.Log.InfoContext(ctx, "issuer discovered", "issuer", a.cfg.Issuer)
			return nil
		}
		if mismatch, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
			return fmt.Errorf("the issuer at %s names itself %q: set OIDC_ISSUER to exactly that", a.cfg.Issuer, mismatch.Discovered)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // who ended ctx wants no fault of the issuer
		}
		a.cfg.Log.WarnContext(ctx, "issuer not discovered yet, trying again", "issuer", a.cfg.Issuer, "within", wait, "error", err)
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// pause waits for half to the whole of d, at random so that replicas do not ask in step; false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2+1)) //nolint:gosec // jitter need not be unpredictable
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (a *Auth) discoverOnce(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, a.client), a.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover issuer: %w", err)
	}
	var m metadata
	if err := found.Claims(&m); err != nil {
		return nil, fmt.Errorf("decode the issuer's metadata: %w", err)
	}
	if err := a.checkEndpoints(found.Endpoint(), m); err != nil {
		return nil, err
	}
	return a.newProvider(found.Endpoint(), m), nil
}

// checkEndpoints refuses metadata that is not usable, or that would take secrets from https to http.
func (a *Auth) checkEndpoints(e oauth2.Endpoint, m metadata) error {
	for _, endpoint := range []string{e.AuthURL, e.TokenURL, m.KeySet} {
		if !isHTTP(endpoint) {
			return fmt.Errorf("the issuer's metadata has no usable endpoint where %q stands", endpoint)
		}
		if strings.HasPrefix(a.cfg.Issuer, "https:") && !strings.HasPrefix(endpoint, "https:") {
			return fmt.Errorf("the issuer is https but its endpoint %s is not", endpoint)
		}
	}
	return nil
}

func (a *Auth) newProvider(endpoint oauth2.Endpoint, m metadata) *provider {
	endpoint.AuthStyle = a.authStyle(m)
	keys := &keySet{url: m.KeySet, client: &http.Client{Transport: a.gate, Timeout: a.client.Timeout}, now: a.cfg.Now}
	return &provider{
		oauth: oauth2.Config{
			ClientID: a.cfg.ClientID, ClientSecret: a.cfg.ClientSecret, Endpoint: endpoint,
			RedirectURL: a.cfg.PublicURL.JoinPath(callbackPath).String(), Scopes: a.cfg.Scopes,
		},
		idTokens:     oidc.NewVerifier(a.cfg.Issuer, keys, a.verifierConfig(a.cfg.ClientID, idTokenAlgorithms(m))),
		accessTokens: oidc.NewVerifier(a.cfg.Issuer, keys, a.verifierConfig(a.cfg.Audience, asymmetric())),
		endSession:   m.EndSession,
		namesItself:  m.NamesItself,
	}
}

func (a *Auth) verifierConfig(audience string, algorithms []string) *oidc.Config {
	return &oidc.Config{
		ClientID: audience, SupportedSigningAlgs: algorithms,
		Now: func() time.Time { return a.cfg.Now().Add(-leeway) },
	}
}

// authStyle chooses how the client's secret travels, so that oauth2 need not find out by failing first.
func (a *Auth) authStyle(m metadata) oauth2.AuthStyle {
	basic := len(m.AuthMethods) == 0 || slices.Contains(m.AuthMethods, "client_secret_basic")
	if a.cfg.ClientSecret != "" && basic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// idTokenAlgorithms pins ID tokens to what the issuer says it signs with, of what is accepted at all. The default is
// the one that every issuer must have.
func idTokenAlgorithms(m metadata) []string {
	pinned := slices.DeleteFunc(slices.Clone(m.Algorithms), func(alg string) bool {
		return !slices.Contains(asymmetric(), alg)
	})
	if len(pinned) == 0 {
		return []string{oidc.RS256}
	}
	return pinned
}
