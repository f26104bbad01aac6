// Package auth says who is calling: sessions of the web, bearer tokens of everything else, and sign-in at an OIDC issuer.
//
// It answers with one of three things: a Caller, ErrInvalid (the credential is no good) or ErrUnavailable (it cannot be
// said now, because the issuer or the database is away). The two errors are never mixed up: clients sign their user
// out on the first and try again on the second.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// What the functions of this package return, wrapped with a cause that is for logs only.
var (
	// ErrInvalid says that a credential is definitely not valid: 401.
	ErrInvalid = errors.New("credential is not valid")
	// ErrUnavailable says that the issuer or the database cannot be asked now, or that discovery has not succeeded
	// yet: 503, and nothing is known about the credential.
	ErrUnavailable = errors.New("authentication is unavailable")
	// ErrTwoCredentials says that a request carries both a session cookie and an Authorization header: 400.
	ErrTwoCredentials = errors.New("a request may carry a session cookie or an Authorization header, not both")
	// ErrCallback says that a callback does not belong to a sign-in that this browser began: 400, and nothing was looked up.
	ErrCallback = errors.New("this sign-in was not begun in this browser, or was begun again since: start it anew")
	// ErrNotSession says that a session was needed and the caller came with a bearer token.
	ErrNotSession = errors.New("only a session can be refreshed: ask the issuer for a new token instead")
)

// Config is how an Auth is set up.
type Config struct {
	// Issuer is the OIDC issuer's URL, exactly as the issuer names itself.
	Issuer string
	// ClientID and ClientSecret are the web's own client at the issuer. An empty secret makes it a public client.
	ClientID, ClientSecret string
	// Audience is what the aud claim of an access token must hold.
	Audience string
	// Clients are the clients whose access tokens are accepted (client_id or azp claim).
	Clients []string
	// TokenTypes are the JOSE typ values of access tokens, without "application/". Empty: at+jwt (RFC 9068). A few issuers
	// sign access tokens with another type: Okta "application/okta-internal-at+jwt", Keycloak and Entra "JWT". Allowing
	// "JWT" is safe only beside the other checks of this package, which refuse ID, refresh and logout tokens by their claims.
	TokenTypes []string
	// Scopes are asked for at sign-in. Empty: openid, profile, email.
	Scopes []string
	// OrgClaim names the claim with the organisation's immutable id. Empty: org_id. "-": each user is an organisation.
	OrgClaim string
	// RolesClaim names the claim with the roles; a dotted name reaches into objects. Empty: roles.
	RolesClaim string
	// PublicURL is where browsers reach this server. With https, cookies are Secure and bear the __Host- prefix.
	PublicURL *url.URL
	// SessionIdle and SessionMax end a session after that long without use (0: 24 h), and in any case (0: 14 days).
	SessionIdle, SessionMax time.Duration
	// Transport carries the requests to the issuer. Nil: http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Hooks report to metrics. Each may be nil.
	Hooks Hooks
	// Log gets what no caller is there to be told, such as failing discovery. Nil: discarded.
	Log *slog.Logger
}

// Hooks are told what authentication costs, so that metrics and tests can count it.
type Hooks struct {
	// SessionLookup is called before each look-up of a session in the database.
	SessionLookup func()
	// TokenCheck is called before each check of a bearer token's signature.
	TokenCheck func()
	// KeyFetch is called before each fetch of the issuer's key set.
	KeyFetch func()
	// KeyFetchSpared is called when the gate answers from the last good key set instead.
	KeyFetchSpared func()
	// Revoked is called with a user of whom something was revoked, in this process or another: what is remembered of their
	// credentials is to be forgotten.
	Revoked func(userID uuid.UUID)
	// SignIn is called at the end of each sign-in, with "ok" or the code of its failure.
	SignIn func(code string)
}

// An Auth authenticates requests and runs the web's sign-in. It is safe for concurrent use.
type Auth struct {
	cfg         Config
	store       *store.Store
	client      *http.Client
	gate        *keyGate
	provider    atomic.Pointer[provider]
	revocations revocations
}

// New checks the configuration, all of it at once, and makes an Auth. It reaches neither the issuer nor the database.
func New(cfg Config, s *store.Store) (*Auth, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("set up authentication: %w", err)
	}
	cfg = cfg.withDefaults()
	client := newClient(cfg.Transport)
	gate := &keyGate{next: client.Transport, now: cfg.Now, hooks: cfg.Hooks}
	return &Auth{cfg: cfg, store: s, client: client, gate: gate}, nil
}

// Ready says whether discovery has succeeded. Until then bearer tokens and sign-in answer ErrUnavailable.
func (a *Auth) Ready() bool { return a.provider.Load() != nil }

// Start discovers the issuer in the background, with backoff, until it succeeds or ctx ends.
//
// The channel yields at most one error, a fault that waiting cannot mend (the issuer names itself otherwise than
// Config.Issuer): the process should end with it. It is closed when discovery is over.
func (a *Auth) Start(ctx context.Context) <-chan error {
	fault := make(chan error, 1)
	go func() {
		defer close(fault)
		if err := a.discover(ctx); err != nil {
			fault <- err
		}
	}()
	return fault
}

func (c Config) check() error {
	var faults []error
	require := func(ok bool, text string) {
		if !ok {
			faults = append(faults, errors.New(text))
		}
	}
	require(isHTTP(c.Issuer), "the issuer must be an http or https URL")
	require(c.ClientID != "", "the client id is missing")
	require(c.Audience != "", "the audience of access tokens is missing")
	require(len(c.Clients) > 0 && !slices.Contains(c.Clients, ""), "the clients whose tokens are accepted are missing")
	require(c.PublicURL != nil && isHTTP(c.PublicURL.String()), "the public URL must be an http or https URL")
	require(c.SessionIdle >= 0 && c.SessionMax >= 0, "session times must not be negative")
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if len(c.TokenTypes) == 0 {
		c.TokenTypes = []string{"at+jwt"}
	}
	if len(c.Scopes) == 0 {
		c.Scopes = []string{"openid", "profile", "email"}
	}
	c.OrgClaim = cmp.Or(c.OrgClaim, "org_id")
	c.RolesClaim = cmp.Or(c.RolesClaim, "roles")
	c.SessionIdle = cmp.Or(c.SessionIdle, 24*time.Hour)
	c.SessionMax = cmp.Or(c.SessionMax, 14*24*time.Hour)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// secure says whether cookies are marked Secure: when browsers come over https.
func (c Config) secure() bool { return c.PublicURL.Scheme == "https" }

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// report calls a hook that may be nil.
func report(hook func()) {
	if hook != nil {
		hook()
	}
}
