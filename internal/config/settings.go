package config

import (
	"fmt"
	"strings"
	"time"
)

// A setting is one row of the table: an environment variable, where its value goes, what it is when not set, and what
// the documentation says of it.
type setting struct {
	name        string
	value       value
	standard    string // the default
	development string // the default in development, where it is another one
	about       string // one sentence or two for the README and .env.example
}

// settings is the table, bound to the fields of c. Its order is that of the documentation, with APP_ENV first because defaults depend on it.
//
//nolint:funlen // a table is as long as its rows
func settings(c *Config) []setting {
	return []setting{
		{
			name: "APP_ENV", value: field(&c.Env, oneOf(Production, Development)), standard: string(Production),
			about: "`production` or `development`. Production refuses what is only fit for a developer's machine.",
		},
		{
			name: "HTTP_ADDR", value: field(&c.HTTPAddr, hostPort), standard: ":8080", development: "127.0.0.1:8080",
			about: "Where the server listens.",
		},
		{
			name: "ADMIN_ADDR", value: field(&c.AdminAddr, hostPort), standard: "127.0.0.1:9090",
			about: "Where `/metrics` and `/debug/pprof` are served, without any authentication: keep it private.",
		},
		{
			name: "PUBLIC_URL", value: field(&c.PublicURL, origin),
			about: "The origin under which browsers reach the server. Required in production, with https; in development it follows from `HTTP_ADDR`.",
		},
		{
			name: "DATA_DIR", value: field(&c.DataDir, text), standard: ".data",
			about: "The folder of the embedded PostgreSQL.",
		},
		{
			name: "DATABASE_URL", value: field(&c.DatabaseURL, databaseURL),
			about: "The URL of a PostgreSQL database, `postgres://…`, with special characters of the password percent-encoded. Required in production; in development, when empty, an embedded one is started.",
		},
		{
			name: "DATABASE_DIRECT_URL", value: field(&c.DatabaseDirectURL, databaseURL),
			about: "The same database past a connection pooler, for what needs a session of its own (migrations). Empty: `DATABASE_URL`.",
		},
		{
			name: "MIGRATE_ON_START", value: field(&c.MigrateOnStart, boolean), standard: "false", development: "true",
			about: "Whether the server applies migrations when it starts. Otherwise run `server migrate` before it.",
		},
		{
			name: "REDIS_URL", value: field(&c.RedisURL, urlOf("redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")),
			about: "Where users' budgets are counted: `redis://`, `rediss://` (TLS), `redis+cluster://` or `redis+sentinel://`; `?read_timeout=100ms` changes the 50 ms that a call may take. Empty: in this process's memory.",
		},
		{
			name: "EDGE_STORE", value: field(&c.EdgeStore, oneOf(EdgeInMemory, EdgeInRedis)), standard: string(EdgeInMemory),
			about: "Where the edge is counted: `memory`, by each server by itself, or `redis`, by all together at the price of a round trip ahead of every request.",
		},
		{
			name: "REPLICAS", value: field(&c.Replicas, number(1, 10_000)), standard: "1",
			about: "How many servers run. With more than one, counters in memory admit that many times each limit, so production then requires `REDIS_URL`.",
		},
		{
			name: "TRUSTED_PROXIES", value: field(&c.TrustedProxies, list(addressRange)),
			about: "Proxies whose `X-Forwarded-For` counts: addresses and CIDR ranges, separated by commas. Empty: the socket's address is the client.",
		},
		{
			name: "IPV6_PREFIX", value: field(&c.IPv6Prefix, number(32, 128)), standard: "64",
			about: "How many bits of an IPv6 address are counted as one client.",
		},
		{
			name: "CORS_ORIGINS", value: field(&c.CORSOrigins, list(origin)),
			about: "Other origins whose pages may call the API with bearer tokens, separated by commas. Cookies are never allowed across origins.",
		},
		{
			name: "OIDC_ISSUER", value: field(&c.OIDC.Issuer, webURL),
			about: "The OpenID Connect issuer, spelled exactly as it names itself. Required in production; in development, when empty, the development issuer.",
		},
		{
			name: "OIDC_CLIENT_ID", value: field(&c.OIDC.ClientID, text), standard: "web",
			about: "The client id of the web sign-in.",
		},
		{
			name: "OIDC_CLIENT_SECRET", value: field(&c.OIDC.ClientSecret, secret),
			about: "The client secret of the web sign-in. Required in production.",
		},
		{
			name: "OIDC_AUDIENCE", value: field(&c.OIDC.Audience, text), standard: "api",
			about: "The audience that an access token must have.",
		},
		{
			name: "OIDC_CLIENTS", value: field(&c.OIDC.Clients, list(text)), standard: "web,mobile,cli",
			about: "The client ids whose access tokens are accepted, separated by commas.",
		},
		{
			name: "OIDC_TOKEN_TYPES", value: field(&c.OIDC.TokenTypes, list(text)), standard: "at+jwt",
			about: "The types (JOSE `typ`) of access tokens that are accepted, separated by commas. Keycloak, Entra ID and others sign theirs as `JWT`.",
		},
		{
			name: "OIDC_SCOPES", value: field(&c.OIDC.Scopes, list(text)), standard: "openid,profile,email",
			about: "The scopes that the web sign-in asks for, separated by commas or spaces.",
		},
		{
			name: "OIDC_ORG_CLAIM", value: field(&c.OIDC.OrgClaim, text), development: "org_id",
			about: "The claim with the immutable id of a user's organisation; `-` gives everybody an organisation of their own. Required in production.",
		},
		{
			name: "OIDC_ROLES_CLAIM", value: field(&c.OIDC.RolesClaim, text), standard: "roles",
			about: "The claim with a user's roles; `admin` is the one that counts.",
		},
		{
			name: "SESSION_IDLE", value: field(&c.SessionIdle, duration), standard: "24h",
			about: "How long a web session lasts without a request.",
		},
		{
			name: "SESSION_MAX", value: field(&c.SessionMax, duration), standard: "336h",
			about: "How long a web session lasts at most.",
		},
		{
			name: "AUDIT_KEEP", value: field(&c.AuditKeep, wait), standard: "9600h",
			about: "How long the audit of what administrators did is kept, 400 days if not set; `0s` keeps it for ever.",
		},
		{
			name: "DEV_ISSUER", value: field(&c.devIssuer, oneOf(devIssuerPublic)),
			about: "`public` runs the development issuer although `PUBLIC_URL` is not this machine. It signs anybody in as anybody. Refused in production.",
		},
		{
			name: "BUDGETS_FILE", value: field(&c.BudgetsFile, text),
			about: "A JSON file that changes budgets for everybody, such as `{\"user\": {\"limit\": 200}}`; read anew on SIGHUP. See `docs/limits.md`.",
		},
		// example:begin
		{
			name: "LLM_BASE_URL", value: field(&c.LLM.BaseURL, webURL),
			about: "An OpenAI-compatible API that parses tasks. Empty: the local parser.",
		},
		{
			name: "LLM_API_KEY", value: field(&c.LLM.APIKey, secret),
			about: "The key of that API, if it wants one.",
		},
		{
			name: "LLM_MODEL", value: field(&c.LLM.Model, text),
			about: "The model's name. Required with `LLM_BASE_URL`.",
		},
		// example:end
		{
			name: "LOG_LEVEL", value: field(&c.LogLevel, logLevel), standard: "info",
			about: "`debug`, `info`, `warn` or `error`.",
		},
		{
			name: "LOG_FORMAT", value: field(&c.LogFormat, oneOf("json", "text")), standard: "json", development: "text",
			about: "`json` or `text`.",
		},
		{
			name: "SHUTDOWN_DRAIN", value: field(&c.ShutdownDrain, waitUpTo(maxDrain)), standard: "5s", development: "0s",
			about: "How long the server goes on serving, no longer ready, before it closes: the time a load balancer needs to notice. At most 5 minutes.",
		},
	}
}

// maxDrain is longer than any load balancer takes to notice, and shorter than what orchestrators wait before they kill.
const maxDrain = 5 * time.Minute

// devIssuerPublic is the one value of DEV_ISSUER.
const devIssuerPublic = "public"

// defaultIn returns what the setting is in that environment when nobody sets it.
func (s setting) defaultIn(env Env) string {
	if env == Development && s.development != "" {
		return s.development
	}
	return s.standard
}

// read fills a Config from the table. An empty value is one that is not set, and surrounding space is dropped, since
// both come from environment files that were edited by hand. What cannot be read is noted in the Config, and is an error.
func read(getenv func(string) string) (Config, []error) {
	c := Config{Env: Production}
	var faults []error
	for _, s := range settings(&c) {
		given := strings.TrimSpace(getenv(s.name))
		if given == "" {
			given = s.defaultIn(c.Env)
		}
		if given == "" {
			continue
		}
		if err := s.value.set(given); err != nil {
			faults = append(faults, fmt.Errorf("%s=%s %w", s.name, s.value.mask(given), err))
			c.unread = append(c.unread, s.name)
		}
	}
	c.publicURLSet = c.PublicURL != ""
	return c, faults
}
