package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/api/spec"
	"example.com/gatehouse/internal/allowance"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/clientip"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/devidp"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/web"
)

// openDatabase starts the embedded database if there is no other, and waits until the schema is there.
func (s *server) openDatabase(ctx context.Context) error {
	if s.cfg.DatabaseURL == "" {
		if err := s.startDatabase(ctx); err != nil {
			return err
		}
	}
	var err error
	s.store, err = store.Open(ctx, store.Config{
		URL: string(s.cfg.DatabaseURL), DirectURL: string(s.cfg.DatabaseDirectURL), KeepAudit: s.cfg.AuditKeep, Trace: s.tracing.Store("postgresql"),
	})
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	if err := s.watchDatabase(); err != nil {
		return err
	}
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	if !s.cfg.DevIssuer {
		return nil
	}
	return s.store.Seed(ctx, s.cfg.OIDC.Issuer)
}

func (s *server) startDatabase(ctx context.Context) error {
	began := time.Now()
	var err error
	s.database, err = devdb.Start(ctx, devdb.Config{DataDir: filepath.Join(s.cfg.DataDir, "postgres"), Log: s.log})
	if err != nil {
		return fmt.Errorf("start the embedded PostgreSQL of DATA_DIR=%s: %w", s.cfg.DataDir, err)
	}
	s.cfg.DatabaseURL = config.SecretURL(s.database.URL("postgres"))
	s.log.InfoContext(ctx, "embedded PostgreSQL started", "took", time.Since(began).String())
	return nil
}

// awaitSchema migrates, or waits for who does. A database that cannot be reached is waited for too: in most deployments
// it comes up beside the server.
func (s *server) awaitSchema(ctx context.Context) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		ready, setting, err := s.schemaReady(ctx)
		if ready || err != nil && !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		s.warnOfWaiting(ctx, setting, err, wait)
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // Compared by who told it to end.
		case <-time.After(wait):
		}
	}
}

// schemaReady also names the setting that an error is about.
func (s *server) schemaReady(ctx context.Context) (ready bool, setting string, err error) {
	if s.cfg.MigrateOnStart {
		if err := s.store.Migrate(ctx); err != nil {
			return false, s.directSetting(), err
		}
	}
	schema, err := s.store.Schema(ctx)
	return !schema.Behind && err == nil, "DATABASE_URL", err
}

// directSetting is which setting leads past a connection pooler.
func (s *server) directSetting() string {
	if s.cfg.DatabaseDirectURL != "" {
		return "DATABASE_DIRECT_URL"
	}
	return "DATABASE_URL"
}

// warnOfWaiting says what is waited for: the schema, if there is no error, or what the setting leads to.
func (s *server) warnOfWaiting(ctx context.Context, setting string, err error, wait time.Duration) {
	switch why := store.Refusal(err); {
	case err == nil:
		s.health.Set(httpapi.Behind)
		s.log.WarnContext(ctx, "the database lacks a migration; waiting for the subcommand migrate", "again_in", wait.String())
	case why != "":
		s.log.WarnContext(ctx, "the database answers, but does not let this server in; trying again",
			"why", why, "fix", "mend "+setting+", or the database", "error", err, "in", wait.String())
	default:
		s.log.WarnContext(ctx, "the database does not answer; trying again", "error", err, "in", wait.String())
	}
}

// secretSize is enough for an HMAC-SHA256 key.
const secretSize = 32

// memoryKeys bounds the counters in this process: a million addresses a minute, in some hundred megabytes at the most.
const memoryKeys = 1 << 20

// makeLimiter makes the stores that counters live in, and the limiter around them.
func (s *server) makeLimiter(ctx context.Context) error {
	s.memory = memory.New(memory.Config{Keys: memoryKeys, Evicted: s.metrics.MemoryEvictions.Inc})
	secret, err := s.store.Secret(ctx, "limiter-keys", secretSize)
	if err != nil {
		return fmt.Errorf("get the secret of limiter keys: %w", err)
	}
	if err := s.openCounters(ctx, secret); err != nil {
		return err
	}
	stores := map[string]ratelimit.Store{string(api.InMemory): s.memory, string(api.InPostgres): s.postgres}
	timeouts := map[string]time.Duration{string(api.InPostgres): s.postgres.Timeout()}
	if s.cfg.RedisURL != "" {
		if err := s.openRedis(ctx, secret); err != nil {
			return err
		}
		stores[string(api.InRedis)], timeouts[string(api.InRedis)] = s.redis, s.redis.Timeout()
	}
	rows, err := readBudgets(s.cfg)
	if err != nil {
		return err
	}
	s.meters, err = newMeters(s.cfg)
	if err != nil {
		return err
	}
	s.allowances = allowance.New(allowance.Config{Load: s.store.Allowances, Failed: s.allowancesUnread, PassedOver: s.allowancePassedOver})
	s.limiter, err = ratelimit.New(ratelimit.Config{
		Budgets: budgetsOf(rows, s.meters), Stores: stores, Local: s.memory, Timeouts: timeouts, Hooks: s.limiterHooks(),
		Resolve: s.allowances.Resolve,
	})
	if err != nil {
		return fmt.Errorf("set up the limiter: %w", err)
	}
	s.makeAgreement()
	s.warnOfReplicas(ctx, rows)
	return nil
}

// makeAuth makes authentication, and the development issuer where it is wanted.
func (s *server) makeAuth(ctx context.Context) error {
	public, err := url.Parse(s.cfg.PublicURL)
	if err != nil {
		return fmt.Errorf("PUBLIC_URL: %w", err)
	}
	transport := s.tracing.Transport(http.DefaultTransport)
	if s.cfg.DevIssuer {
		provider, err := devidp.New(devidp.Config{
			Issuer: s.cfg.OIDC.Issuer, Audience: s.cfg.OIDC.Audience, Log: s.log,
			Clients:   devidp.DefaultClients(public, string(s.cfg.OIDC.ClientSecret)),
			Transport: devidp.Transport(s.cfg.PublicURL, http.HandlerFunc(s.answer), transport),
		}, s.store)
		if err != nil {
			return err
		}
		s.devIDP, transport = provider, devidp.Transport(s.cfg.OIDC.Issuer, provider, transport)
		s.log.WarnContext(ctx, "the development issuer signs anybody in as anybody; set OIDC_ISSUER for a real one", "issuer", s.cfg.OIDC.Issuer)
	}
	s.known = auth.NewKnown(auth.KnownConfig{})
	if err := s.metrics.WatchKnownCallers(s.known.Len); err != nil {
		return fmt.Errorf("watch known callers: %w", err)
	}
	s.auth, err = auth.New(auth.Config{
		Issuer: s.cfg.OIDC.Issuer, ClientID: s.cfg.OIDC.ClientID, ClientSecret: string(s.cfg.OIDC.ClientSecret),
		Audience: s.cfg.OIDC.Audience, Clients: s.cfg.OIDC.Clients, TokenTypes: s.cfg.OIDC.TokenTypes, Scopes: s.cfg.OIDC.Scopes,
		OrgClaim: s.cfg.OIDC.OrgClaim, RolesClaim: s.cfg.OIDC.RolesClaim, PublicURL: public,
		SessionIdle: s.cfg.SessionIdle, SessionMax: s.cfg.SessionMax, Transport: transport, Hooks: s.authHooks(), Log: s.log,
	}, s.store)
	return err
}

// makeHandler puts the HTTP API in place of what answered while starting.
func (s *server) makeHandler(ctx context.Context) error {
	addresses, err := s.addresses(ctx)
	if err != nil {
		return err
	}
	public, err := url.Parse(s.cfg.PublicURL)
	if err != nil {
		return fmt.Errorf("PUBLIC_URL: %w", err)
	}
	s.api, err = httpapi.New(httpapi.Config{ //nolint:contextcheck // What is given back outlives its request.
		Store: s.store, Auth: s.auth, Known: s.known, Limiter: s.limiter, Allowances: s.allowances, Addresses: addresses, Health: &s.health, Log: s.log,
		Parser: s.parser, // example:line
		Routes: api.Routes(), Budgets: api.Budgets(), Meters: s.meters, PublicURL: public, CORSOrigins: s.cfg.CORSOrigins,
		OpenAPI: spec.OpenAPI(), Pages: web.Files(), DevIDP: s.devIDP, Hooks: s.httpHooks(), CounterStats: s.counterStats,
	})
	if err != nil {
		return err
	}
	ready := s.tracing.Handler(s.api, func(r *http.Request) bool { return addresses.Trusts(r.RemoteAddr) })
	s.handler.Store(&ready)
	s.warnOfNumbers(ctx)
	return nil
}

func (s *server) addresses(ctx context.Context) (*clientip.Resolver, error) {
	trusted, warnings, err := clientip.ParseTrusted(s.cfg.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("TRUSTED_PROXIES: %w", err)
	}
	for _, warning := range warnings {
		s.log.WarnContext(ctx, "TRUSTED_PROXIES", "warning", warning)
	}
	addresses, err := clientip.New(clientip.Config{Trusted: trusted, IPv6Prefix: s.cfg.IPv6Prefix})
	if err != nil {
		return nil, fmt.Errorf("IPV6_PREFIX: %w", err)
	}
	return addresses, nil
}
