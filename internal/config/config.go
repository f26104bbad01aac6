// Package config reads the settings: environment variables into one struct, with every fault at once.
//
// The table in settings.go is the only place that knows a setting's name, default and description. What depends on
// several settings is here: values derived from others, and the combinations that are refused. The table is the
// project's own because the usual libraries have no defaults by environment, and put secrets into their errors.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"
)

// An Env is what the server runs as. Production refuses what only development may do.
type Env string

// The environments. Production is the default, so that forgetting APP_ENV is safe.
const (
	Production  Env = "production"
	Development Env = "development"
)

// DevIssuerPath is where the development issuer is mounted below the public URL.
const DevIssuerPath = "/dev/idp"

// devClientSecret is what the web client and the development issuer share when no secret is set. It protects nothing:
// that issuer signs anybody in.
const devClientSecret Secret = "development-only"

// An EdgeStore is where the budgets ahead of authentication are counted.
type EdgeStore string

// The values of EDGE_STORE.
const (
	EdgeInMemory EdgeStore = "memory"
	EdgeInRedis  EdgeStore = "redis"
)

// Config is the settings as the program uses them, derived values filled in. Printing it in any way masks secrets.
type Config struct {
	Env       Env
	HTTPAddr  string // host:port; the host may be empty, the port 0
	AdminAddr string // host:port
	PublicURL string // an origin without a trailing slash, "https://app.example.com"

	DataDir           string
	DatabaseURL       SecretURL // empty: the embedded PostgreSQL under DataDir
	DatabaseDirectURL SecretURL // empty: DatabaseURL
	MigrateOnStart    bool

	RedisURL SecretURL // empty: counters in memory
	// EdgeStore is where the edge is counted; EdgeInRedis only with a RedisURL.
	EdgeStore EdgeStore
	Replicas  int // at least 1

	TrustedProxies []string // addresses and CIDR ranges, checked
	IPv6Prefix     int      // bits
	CORSOrigins    []string // origins as browsers send them

	OIDC        OIDC
	DevIssuer   bool // the development issuer is mounted, and OIDC.Issuer is its URL
	SessionIdle time.Duration
	SessionMax  time.Duration // at least SessionIdle

	AuditKeep time.Duration // how long the audit is kept; 0: for ever

	BudgetsFile string // empty: the table of budgets as it is

	LLM LLM // example:line

	LogLevel      slog.Level
	LogFormat     string // "json" or "text"
	ShutdownDrain time.Duration

	publicURLSet bool     // PUBLIC_URL was given, not derived
	devIssuer    string   // DEV_ISSUER as given: empty or "public"
	unread       []string // settings whose values cannot be read
}

// OIDC is the sign-in: who issues identities and for whom.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret Secret
	Audience     string
	Clients      []string // client ids whose access tokens are accepted
	TokenTypes   []string // JOSE typ values of access tokens
	Scopes       []string
	OrgClaim     string // "-": an organisation of one's own for everybody
	RolesClaim   string
}

// example:begin

// LLM is the model that parses tasks; none if BaseURL is empty.
type LLM struct {
	BaseURL string
	APIKey  Secret
	Model   string
}

// example:end

// A Check finds a fault that only another package can: that what a setting names is not there, for example. It connects to
// nothing, so that all faults can be said at once, before anything is waited for.
type Check struct {
	// Settings are those that it looks at. Where one of them cannot be read, that is said instead.
	Settings []string
	Fault    func(Config) error
}

// Load reads all settings through getenv, which returns "" for what is not set, as os.Getenv does. The error lists
// every fault, each with the setting, its value (masked if secret) and what to do, and those of the checks after them.
func Load(getenv func(string) string, checks ...Check) (Config, error) {
	return load(getenv, Config.serverFaults, checks)
}

// LoadDatabase reads the settings as Load does, but asks no more of them than that they can be read and lead to a
// database: what a migration needs, which runs without an issuer or a public address.
func LoadDatabase(getenv func(string) string) (Config, error) {
	return load(getenv, Config.databaseFaults, nil)
}

// LoadBudgets reads the settings as Load does, but asks no more of them than that they can be read and do not contradict each
// other, and pass the checks: what tells the budgets of a server without running it.
func LoadBudgets(getenv func(string) string, checks ...Check) (Config, error) {
	return load(getenv, Config.consistencyFaults, checks)
}

// PublicURL is the origin under which a server of development with these settings is reached: PUBLIC_URL, or what follows from
// HTTP_ADDR.
func PublicURL(getenv func(string) string) (string, error) {
	c, faults := read(getenv)
	if len(faults) > 0 {
		return "", fmt.Errorf("read settings:\n%w", errors.Join(faults...))
	}
	if c.publicURLSet {
		return c.PublicURL, nil
	}
	return localURL(c.HTTPAddr), nil
}

func load(getenv func(string) string, combinations func(Config) []error, checks []Check) (Config, error) {
	c, faults := read(getenv)
	c = c.derived()
	faults = append(faults, combinations(c)...)
	for _, check := range checks {
		if !slices.ContainsFunc(check.Settings, c.isUnread) {
			faults = append(faults, check.Fault(c))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Config{}, fmt.Errorf("read settings:\n%w", err)
	}
	return c, nil
}

// isUnread reports whether a setting has a value that cannot be read. What follows from it would only say so again in other words.
func (c Config) isUnread(setting string) bool { return slices.Contains(c.unread, setting) }

// ListeningOn returns the settings for a server that listens on addr, which is HTTPAddr with the port that the system
// chose where it was 0. A public URL that was given stays as it is.
func (c Config) ListeningOn(addr string) Config {
	c.HTTPAddr = addr
	if !c.publicURLSet {
		c.PublicURL = ""
	}
	if c.DevIssuer {
		c.OIDC.Issuer = ""
	}
	return c.derived()
}

// AdminIsLocal reports whether nobody but this machine can reach the admin address.
func (c Config) AdminIsLocal() bool { return isLoopback("http://" + c.AdminAddr) }

// derived returns the settings with what follows from others filled in. Nothing is guessed in production.
func (c Config) derived() Config {
	if c.Env != Development {
		return c
	}
	if c.PublicURL == "" {
		c.PublicURL = localURL(c.HTTPAddr)
	}
	c.DevIssuer = c.OIDC.Issuer == "" && (isLoopback(c.PublicURL) || c.devIssuer == devIssuerPublic)
	if !c.DevIssuer {
		return c
	}
	c.OIDC.Issuer = c.PublicURL + DevIssuerPath
	if c.OIDC.ClientSecret == "" {
		c.OIDC.ClientSecret = devClientSecret
	}
	return c
}

// localURL is the origin under which a browser on this machine reaches addr. A loopback or unspecified host becomes
// "localhost", which browsers treat as secure.
func localURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	ip := net.ParseIP(host)
	if host == "" || ip != nil && ip.To4() != nil && (ip.IsLoopback() || ip.IsUnspecified()) || host == "::" {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// String prints the settings as an environment file would hold them, secrets masked.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range settings(&c) {
		fmt.Fprintf(&b, "%s=%s\n", s.name, s.value.text())
	}
	return b.String()
}

// GoString keeps %#v from showing what String masks.
func (c Config) GoString() string {
	return c.String()
}

// LogValue is a group of all settings, secrets masked.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, s := range settings(&c) {
		attrs = append(attrs, slog.String(s.name, s.value.text()))
	}
	return slog.GroupValue(attrs...)
}
