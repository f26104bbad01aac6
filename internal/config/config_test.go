package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/internal/config"
)

// env is an environment; with returns it with other values, where an empty value unsets.
type env map[string]string

func (e env) get(name string) string { return e[name] }

func (e env) with(pairs ...string) env {
	changed := maps.Clone(e)
	for i := 0; i < len(pairs); i += 2 {
		changed[pairs[i]] = pairs[i+1]
	}
	return changed
}

var (
	development = env{"APP_ENV": "development"}
	production  = env{
		"PUBLIC_URL":         "https://app.example.com",
		"DATABASE_URL":       "postgres://app:hunter2@db.internal/app",
		"OIDC_ISSUER":        "https://id.example.com/realms/main",
		"OIDC_CLIENT_SECRET": "s3cr3t-of-the-client",
		"OIDC_ORG_CLAIM":     "org_id",
	}
)

func load(t *testing.T, e env) config.Config {
	t.Helper()
	c, err := config.Load(e.get)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A command finds the server where its settings put it.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ addr, public, want string }{
		{"", "", "http://localhost:8080"},
		{":9000", "", "http://localhost:9000"},
		{"127.0.0.1:9000", "", "http://localhost:9000"},
		{"[::]:9000", "", "http://localhost:9000"},
		{"192.0.2.7:9000", "", "http://192.0.2.7:9000"},
		{":9000", "http://localhost:8080", "http://localhost:8080"},
	} {
		env := map[string]string{"HTTP_ADDR": c.addr, "PUBLIC_URL": c.public}
		if got, err := config.PublicURL(func(name string) string { return env[name] }); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if _, err := config.PublicURL(func(name string) string { return map[string]string{"HTTP_ADDR": "nowhere"}[name] }); err == nil || !strings.Contains(err.Error(), "HTTP_ADDR") {
		t.Errorf("an address that is none: %v", err)
	}
}

func TestDefaultsInDevelopment(t *testing.T) {
	t.Parallel()
	c := load(t, development)
	checks := map[string]bool{
		"HTTPAddr":       c.HTTPAddr == "127.0.0.1:8080",
		"AdminAddr":      c.AdminAddr == "127.0.0.1:9090",
		"PublicURL":      c.PublicURL == "http://localhost:8080",
		"DataDir":        c.DataDir == ".data",
		"DatabaseURL":    c.DatabaseURL == "",
		"MigrateOnStart": c.MigrateOnStart,
		"RedisURL":       c.RedisURL == "",
		"EdgeStore":      c.EdgeStore == config.EdgeInMemory,
		"Replicas":       c.Replicas == 1,
		"TrustedProxies": len(c.TrustedProxies) == 0,
		"IPv6Prefix":     c.IPv6Prefix == 64,
		"CORSOrigins":    len(c.CORSOrigins) == 0,
		"DevIssuer":      c.DevIssuer,
		"Issuer":         c.OIDC.Issuer == "http://localhost:8080/dev/idp",
		"ClientID":       c.OIDC.ClientID == "web",
		"ClientSecret":   c.OIDC.ClientSecret != "",
		"Audience":       c.OIDC.Audience == "api",
		"Clients":        reflect.DeepEqual(c.OIDC.Clients, []string{"web", "mobile", "cli"}),
		"Scopes":         reflect.DeepEqual(c.OIDC.Scopes, []string{"openid", "profile", "email"}),
		"OrgClaim":       c.OIDC.OrgClaim == "org_id",
		"RolesClaim":     c.OIDC.RolesClaim == "roles",
		"TokenTypes":     slices.Equal(c.OIDC.TokenTypes, []string{"at+jwt"}),
		"SessionIdle":    c.SessionIdle == 24*time.Hour,
		"SessionMax":     c.SessionMax == 14*24*time.Hour,
		"AuditKeep":      c.AuditKeep == 400*24*time.Hour,
		"LLM":            c.LLM == config.LLM{}, // example:line
		"LogLevel":       c.LogLevel == slog.LevelInfo,
		"LogFormat":      c.LogFormat == "text",
		"ShutdownDrain":  c.ShutdownDrain == 0,
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("%s is not the default of development:\n%s", name, c)
		}
	}
}

func TestDefaultsInProduction(t *testing.T) {
	t.Parallel()
	c := load(t, production)
	checks := map[string]bool{
		"Env":            c.Env == config.Production,
		"HTTPAddr":       c.HTTPAddr == ":8080",
		"AdminAddr":      c.AdminAddr == "127.0.0.1:9090",
		"PublicURL":      c.PublicURL == "https://app.example.com",
		"MigrateOnStart": !c.MigrateOnStart,
		"DevIssuer":      !c.DevIssuer,
		"Issuer":         c.OIDC.Issuer == "https://id.example.com/realms/main",
		"LogFormat":      c.LogFormat == "json",
		"ShutdownDrain":  c.ShutdownDrain == 5*time.Second,
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("%s is not the default of production:\n%s", name, c)
		}
	}
}

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	c := load(t, env{
		"APP_ENV": " development\r", "HTTP_ADDR": "[::]:81", "ADMIN_ADDR": ":82", "PUBLIC_URL": "HTTPS://App.Example.com:443/",
		"DATA_DIR": "/var/lib/app", "DATABASE_URL": "postgresql:///app?host=/run/pg", "DATABASE_DIRECT_URL": "postgres://direct/app",
		"MIGRATE_ON_START": "false", "REDIS_URL": "redis+cluster://a:1,b:2", "REPLICAS": "3", "TRUSTED_PROXIES": "10.0.0.7, 10.1.0.0/24",
		"IPV6_PREFIX": "56", "CORS_ORIGINS": "https://Other.example.com/,http://localhost:5173", "OIDC_ISSUER": "http://id.internal:8443/Realm/",
		"OIDC_CLIENT_ID": "w", "OIDC_CLIENT_SECRET": "x", "OIDC_AUDIENCE": "a", "OIDC_CLIENTS": "w,m", "OIDC_TOKEN_TYPES": "at+jwt,JWT", "OIDC_SCOPES": "openid groups",
		"OIDC_ORG_CLAIM": "-", "OIDC_ROLES_CLAIM": "groups", "SESSION_IDLE": "1h", "SESSION_MAX": "2h",
		"LLM_BASE_URL": "http://127.0.0.1:11434/v1", "LLM_API_KEY": "k", "LLM_MODEL": "m", // example:line
		"LOG_LEVEL": "DEBUG", "LOG_FORMAT": "json", "SHUTDOWN_DRAIN": "1m",
	})
	checks := map[string]bool{
		"Env": c.Env == config.Development, "HTTPAddr": c.HTTPAddr == "[::]:81", "AdminAddr": c.AdminAddr == ":82",
		"PublicURL": c.PublicURL == "https://app.example.com", "DataDir": c.DataDir == "/var/lib/app",
		"DatabaseURL": c.DatabaseURL == "postgresql:///app?host=/run/pg", "DatabaseDirectURL": c.DatabaseDirectURL == "postgres://direct/app",
		"MigrateOnStart": !c.MigrateOnStart, "RedisURL": c.RedisURL == "redis+cluster://a:1,b:2", "Replicas": c.Replicas == 3,
		"TrustedProxies": reflect.DeepEqual(c.TrustedProxies, []string{"10.0.0.7", "10.1.0.0/24"}), "IPv6Prefix": c.IPv6Prefix == 56,
		"CORSOrigins": reflect.DeepEqual(c.CORSOrigins, []string{"https://other.example.com", "http://localhost:5173"}),
		"OIDC": reflect.DeepEqual(c.OIDC, config.OIDC{
			Issuer: "http://id.internal:8443/Realm/", ClientID: "w", ClientSecret: "x", Audience: "a", Clients: []string{"w", "m"},
			TokenTypes: []string{"at+jwt", "JWT"}, Scopes: []string{"openid", "groups"}, OrgClaim: "-", RolesClaim: "groups",
		}),
		"DevIssuer": !c.DevIssuer, "SessionIdle": c.SessionIdle == time.Hour, "SessionMax": c.SessionMax == 2*time.Hour,
		"LLM":      c.LLM == config.LLM{BaseURL: "http://127.0.0.1:11434/v1", APIKey: "k", Model: "m"}, // example:line
		"LogLevel": c.LogLevel == slog.LevelDebug, "LogFormat": c.LogFormat == "json", "ShutdownDrain": c.ShutdownDrain == time.Minute,
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("%s is not what was set:\n%s", name, c)
		}
	}
}

// TestFaults: each row is one fault, named with its setting and a fix, and none besides.
func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  env
		want string // how the fault begins
		fix  string // what it says to do
	}{
		{"unknown environment", development.with("APP_ENV", "staging"), `APP_ENV="staging" is unknown`, "set production or development"},
		{"environment in capitals", development.with("APP_ENV", "Development"), `APP_ENV="Development"`, "development"},
		{"address without a port", development.with("HTTP_ADDR", "localhost"), `HTTP_ADDR="localhost"`, ":8080"},
		{"address with a named port", development.with("HTTP_ADDR", ":http"), `HTTP_ADDR=":http"`, ":8080"},
		{"port out of range", development.with("ADMIN_ADDR", ":70000"), `ADMIN_ADDR=":70000"`, "127.0.0.1:8080"},
		{"one address for both", development.with("ADMIN_ADDR", "127.0.0.1:8080"), "ADMIN_ADDR", "another port"},
		{"public URL without a scheme", development.with("PUBLIC_URL", "app.example.com"), `PUBLIC_URL="app.example.com"`, "https://"},
		{"public URL with a path", production.with("PUBLIC_URL", "https://example.com/app"), `PUBLIC_URL="https://example.com/app" has a path`, "alone"},
		{"public URL with a user", production.with("PUBLIC_URL", "https://u:p@example.com"), "PUBLIC_URL", "plain"},
		{"no truth", development.with("MIGRATE_ON_START", "maybe"), `MIGRATE_ON_START="maybe"`, "true nor false"},
		{"replicas in words", development.with("REPLICAS", "two"), `REPLICAS="two"`, "whole number from 1"},
		{"no replica", development.with("REPLICAS", "0"), `REPLICAS="0"`, "whole number from 1"},
		{"prefix too short", development.with("IPV6_PREFIX", "16"), `IPV6_PREFIX="16"`, "from 32 to 128"},
		{"proxy by name", development.with("TRUSTED_PROXIES", "10.0.0.1,proxy"), `TRUSTED_PROXIES="10.0.0.1,proxy" has the entry "proxy"`, "10.0.0.0/24"},
		{"every origin", development.with("CORS_ORIGINS", "*"), `CORS_ORIGINS="*" has the entry "*"`, "https://"},
		{"issuer without a scheme", development.with("OIDC_ISSUER", "id.example.com"), `OIDC_ISSUER="id.example.com"`, "https://"},
		{"session without end", development.with("SESSION_MAX", "0"), `SESSION_MAX="0"`, "24h"},
		{"session in days", development.with("SESSION_IDLE", "1d"), `SESSION_IDLE="1d"`, "24h"},
		{"idle longer than max", development.with("SESSION_IDLE", "400h"), "SESSION_IDLE", "lower it"},
		{"endless drain", development.with("SHUTDOWN_DRAIN", "6m"), "SHUTDOWN_DRAIN=", "is above 5m0s: set less"},
		{"negative drain", development.with("SHUTDOWN_DRAIN", "-1s"), `SHUTDOWN_DRAIN="-1s"`, "0s"},
		{"unknown level", development.with("LOG_LEVEL", "loud"), `LOG_LEVEL="loud"`, "debug, info, warn or error"},
		{"unknown format", development.with("LOG_FORMAT", "xml"), `LOG_FORMAT="xml"`, "json or text"},
		{"model without a place", development.with("LLM_MODEL", "m"), "LLM_MODEL", "LLM_BASE_URL"},                                  // example:line
		{"place without a model", development.with("LLM_BASE_URL", "https://llm.example.com/v1"), "LLM_MODEL", "name of the model"}, // example:line
		{"unknown DEV_ISSUER", development.with("DEV_ISSUER", "yes"), `DEV_ISSUER="yes"`, "public"},
		{"two issuers", development.with("DEV_ISSUER", "public", "OIDC_ISSUER", "https://id.example.com"), "DEV_ISSUER", "unset one"},
		{"development issuer for all", development.with("PUBLIC_URL", "http://app.example.com"), "OIDC_ISSUER is empty", "DEV_ISSUER=public"},
		{"development issuer for the network", development.with("HTTP_ADDR", "192.0.2.1:8080"), "OIDC_ISSUER is empty", "DEV_ISSUER=public"},
		{"direct alone", development.with("DATABASE_DIRECT_URL", "postgres://db/app"), "DATABASE_DIRECT_URL", "DATABASE_URL too"},
		{"database by keywords", production.with("DATABASE_URL", "host=db password=hunter2"), "DATABASE_URL=********", "postgres://"},
		{"another database", production.with("DATABASE_URL", "mysql://app:hunter2@db/app"), "DATABASE_URL=********", "postgres://"},
		{"a password that breaks the URL", production.with("DATABASE_URL", "postgres://app:hunter2%@db/app"), "DATABASE_URL=********", "percent-encode"},
		{"a # in a password", production.with("DATABASE_URL", "postgres://app:12#hunter2@db/app"), "DATABASE_URL=******** cannot be read", "%23 for #"},
		{"an @ in a password", production.with("DATABASE_DIRECT_URL", "postgres://app:hunter2@hunter2@db/app"), "DATABASE_DIRECT_URL=********", "%40 for @"},
		{"a / in a password", production.with("DATABASE_URL", "postgres://app:12/hunter2@db/app"), "DATABASE_URL=********", "%2F for /"},
		{"a ? in a password", production.with("REDIS_URL", "redis://:12?hunter2@redis:6379"), "REDIS_URL=********", "%3F for ?"},
		{"a # in Redis's password", production.with("REDIS_URL", "redis://:12#hunter2@redis:6379"), "REDIS_URL=********", "percent-encode"},
		{"a socket of Redis", production.with("REDIS_URL", "unix:///hunter2"), "REDIS_URL=********", "redis://"},
		{"Redis without a scheme", production.with("REDIS_URL", "hunter2@redis:6379"), "REDIS_URL=********", "redis://"},

		{"production: no database", production.with("DATABASE_URL", ""), "DATABASE_URL is empty", "postgres://"},
		{"production: default password", production.with("DATABASE_URL", "postgres://app:postgres@db/app"), "DATABASE_URL has a default password", "of its own"},
		{"production: the development's password", production.with("DATABASE_URL", "postgres://app:app@db/app"), "DATABASE_URL has a default password", "of its own"},
		{"production: default password past the pooler", production.with("DATABASE_DIRECT_URL", "postgres://app:app@db/app"), "DATABASE_DIRECT_URL has a default password", "of its own"},
		{"production: default password in the query", production.with("DATABASE_URL", "postgres:///app?password=change-me"), "DATABASE_URL", "of its own"},
		{"production: no public URL", production.with("PUBLIC_URL", ""), "PUBLIC_URL is empty", "https://app.example.com"},
		{"production: http", production.with("PUBLIC_URL", "http://app.example.com"), "PUBLIC_URL is http", "https://"},
		{"production: http on loopback", production.with("PUBLIC_URL", "http://localhost:8080"), "PUBLIC_URL is http", "APP_ENV=development"},
		{"production: no issuer", production.with("OIDC_ISSUER", ""), "OIDC_ISSUER is empty", "your issuer's URL"},
		{"production: issuer over http", production.with("OIDC_ISSUER", "http://id.example.com"), "OIDC_ISSUER is http", "https://"},
		{"production: development issuer", production.with("DEV_ISSUER", "public"), "DEV_ISSUER is set", "unset it"},
		{"production: no client secret", production.with("OIDC_CLIENT_SECRET", ""), "OIDC_CLIENT_SECRET is empty", "set the secret"},
		{"production: default client secret", production.with("OIDC_CLIENT_SECRET", "development-only"), "OIDC_CLIENT_SECRET is a default", "set the secret"},
		{"production: default Redis password", production.with("REDIS_URL", "redis://:changeme@redis"), "REDIS_URL has a default", "of its own"},
		{"production: default model key", production.with("LLM_BASE_URL", "https://l.example.com", "LLM_MODEL", "m", "LLM_API_KEY", "change-me"), "LLM_API_KEY", "unset it"}, // example:line
		{"production: no organisation claim", production.with("OIDC_ORG_CLAIM", ""), "OIDC_ORG_CLAIM is empty", "or -"},
		{"the edge in a Redis that there is not", development.with("EDGE_STORE", "redis"), "EDGE_STORE is redis without REDIS_URL", "EDGE_STORE=memory"},
		{"the edge elsewhere", development.with("EDGE_STORE", "disk"), `EDGE_STORE="disk"`, "redis"},
		{"production: replicas in memory", production.with("REPLICAS", "2"), "REPLICAS is above 1", "set REDIS_URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(test.env.get)
			if err == nil {
				t.Fatalf("accepted:\n%s", c)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != 2 || lines[0] != "read settings:" {
				t.Fatalf("not one fault: %q", lines)
			}
			if !strings.HasPrefix(lines[1], test.want) || !strings.Contains(lines[1], test.fix) {
				t.Errorf("the fault is %q, want %q… with the fix %q", lines[1], test.want, test.fix)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the fault shows a secret: %v", err)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(env{}.get)
	named(t, err, "DATABASE_URL", "PUBLIC_URL", "OIDC_ISSUER", "OIDC_CLIENT_SECRET", "OIDC_ORG_CLAIM")
	_, err = config.Load(development.with("HTTP_ADDR", "x", "REPLICAS", "x", "LOG_LEVEL", "x", "SESSION_IDLE", "x").get)
	named(t, err, "HTTP_ADDR", "REPLICAS", "SESSION_IDLE", "LOG_LEVEL")
	_, err = config.Load(production.with("REPLICAS", "x", "REDIS_URL", "x", "EDGE_STORE", "redis", "PUBLIC_URL", "").get)
	named(t, err, "REDIS_URL", "REPLICAS", "PUBLIC_URL")
}

// What does not follow from the value that cannot be read is said beside it, whatever its hint speaks of.
func TestWhatCannotBeReadHidesNothingElse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  env
		want []string
	}{
		{"no public URL", production.with("HTTP_ADDR", "x", "PUBLIC_URL", ""), []string{"HTTP_ADDR=", "PUBLIC_URL is empty"}},
		{"a public URL of http", production.with("HTTP_ADDR", "x", "PUBLIC_URL", "http://a.example.com"), []string{"HTTP_ADDR=", "PUBLIC_URL is http"}},
		{"a default password", production.with("DATABASE_URL", "x", "DATABASE_DIRECT_URL", "postgres://app:app@db/app"), []string{"DATABASE_URL=", "DATABASE_DIRECT_URL has"}},
		{"a default password behind a pooler", production.with("DATABASE_DIRECT_URL", "x", "DATABASE_URL", "postgres://app:app@db/app"), []string{"DATABASE_DIRECT_URL=", "DATABASE_URL has"}},
		{"a default key", production.with("LLM_BASE_URL", "x", "LLM_API_KEY", "changeme"), []string{"LLM_BASE_URL=", "LLM_API_KEY is"}}, // example:line
		{"an issuer that hints at it", production.with("DEV_ISSUER", "x", "OIDC_ISSUER", ""), []string{"DEV_ISSUER=", "OIDC_ISSUER is"}},
		{"an address beside a public URL", development.with("HTTP_ADDR", "x", "PUBLIC_URL", "http://a.example.com"), []string{"HTTP_ADDR=", "OIDC_ISSUER is"}},
		{"an address without one", development.with("HTTP_ADDR", "x"), []string{"HTTP_ADDR="}},
		{"what holds in any environment", development.with("APP_ENV", "x", "SESSION_IDLE", "400h"), []string{"APP_ENV=", "SESSION_IDLE is"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(test.env.get)
			named(t, err, test.want...)
		})
	}
}

// What other packages find is said with the rest, unless what they look at cannot be read.
func TestChecks(t *testing.T) {
	t.Parallel()
	check := func(setting string) config.Check {
		return config.Check{Settings: []string{"DATA_DIR", setting}, Fault: func(c config.Config) error { return errors.New("CHECK of " + setting + " in " + c.DataDir) }}
	}
	_, err := config.Load(development.with("REPLICAS", "x", "SESSION_IDLE", "400h").get, check("REPLICAS"), check("BUDGETS_FILE"))
	named(t, err, "REPLICAS=", "SESSION_IDLE", "CHECK of BUDGETS_FILE in .data")
	none := config.Check{Fault: func(config.Config) error { return nil }}
	if _, err := config.Load(development.get, none); err != nil {
		t.Errorf("a check without a fault: %v", err)
	}
}

// Percent-encoded passwords are read, and so are URLs of several hosts and of a socket.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://app:p%40%23%2F%3Fw@db/app", "postgresql:///app?host=/run/pg&user=app@server", "postgres://a:1,b:2/app", "postgres://app@[::1]:1/a%40b",
	} {
		if c := load(t, development.with("DATABASE_URL", url)); string(c.DatabaseURL) != url {
			t.Errorf("%s is read as %q", url, string(c.DatabaseURL))
		}
	}
	for _, url := range []string{"redis://:p@w@redis:6379/1", "rediss://me:p%23@redis", "redis+sentinel://a,b/main/0?sentinel_password=p@w"} {
		if c := load(t, development.with("REDIS_URL", url)); string(c.RedisURL) != url {
			t.Errorf("%s is read as %q", url, string(c.RedisURL))
		}
	}
}

// named checks that an error has one line for each name, in that order.
func named(t *testing.T, err error, names ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")[1:]
	if len(lines) != len(names) {
		t.Fatalf("%d faults, want %d: %v", len(lines), len(names), err)
	}
	for i, name := range names {
		if !strings.HasPrefix(lines[i], name) {
			t.Errorf("fault %d is %q, want one of %s", i, lines[i], name)
		}
	}
}

func TestLoadDatabaseAsksOnlyForADatabase(t *testing.T) {
	t.Parallel()
	c, err := config.LoadDatabase(env{"DATABASE_URL": "postgres://app:hunter2@db/app"}.get)
	if err != nil || c.DatabaseURL != "postgres://app:hunter2@db/app" {
		t.Errorf("LoadDatabase = %s, %v", c, err)
	}
	_, err = config.LoadDatabase(env{}.get)
	named(t, err, "DATABASE_URL")
	_, err = config.LoadDatabase(env{"APP_ENV": "x", "DATABASE_URL": "postgres://db/app"}.get)
	named(t, err, "APP_ENV")
	if c, err = config.LoadDatabase(development.get); err != nil || c.DataDir != ".data" {
		t.Errorf("LoadDatabase = %s, %v", c, err)
	}
}

func TestPublicURLFollowsTheAddress(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"127.0.0.1:8080": "http://localhost:8080", ":9000": "http://localhost:9000", "0.0.0.0:81": "http://localhost:81",
		"localhost:82": "http://localhost:82", "[::1]:83": "http://[::1]:83", "[::]:84": "http://localhost:84", "127.0.0.2:85": "http://localhost:85",
	}
	for addr, want := range tests {
		c := load(t, development.with("HTTP_ADDR", addr))
		if c.PublicURL != want || c.OIDC.Issuer != want+config.DevIssuerPath || !c.DevIssuer {
			t.Errorf("HTTP_ADDR=%s: %s, issuer %s, want %s", addr, c.PublicURL, c.OIDC.Issuer, want)
		}
	}
}

func TestAdminIsLocal(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:9090": true, "127.8.0.1:1": true, "localhost:9090": true, "[::1]:9090": true,
		":9090": false, "0.0.0.0:9090": false, "[::]:9090": false, "10.0.0.7:9090": false, "metrics:9090": false,
	} {
		if c := load(t, production.with("ADMIN_ADDR", addr)); c.AdminIsLocal() != want {
			t.Errorf("ADMIN_ADDR=%s is local: %t, want %t", addr, !want, want)
		}
	}
}

func TestDevelopmentIssuer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		env    env
		on     bool
		issuer string
	}{
		{"loopback", development.with("PUBLIC_URL", "http://127.0.0.1:81/"), true, "http://127.0.0.1:81/dev/idp"},
		{"a name of loopback", development.with("PUBLIC_URL", "http://app.localhost"), true, "http://app.localhost/dev/idp"},
		{"public", development.with("PUBLIC_URL", "https://demo.example.com", "DEV_ISSUER", "public"), true, "https://demo.example.com/dev/idp"},
		{"an issuer of one's own", development.with("OIDC_ISSUER", "http://localhost:8180/realms/x"), false, "http://localhost:8180/realms/x"},
	}
	for _, test := range tests {
		c := load(t, test.env)
		if c.DevIssuer != test.on || c.OIDC.Issuer != test.issuer {
			t.Errorf("%s: on %t, issuer %s; want %t, %s", test.name, c.DevIssuer, c.OIDC.Issuer, test.on, test.issuer)
		}
		if !test.on && c.OIDC.ClientSecret != "" {
			t.Errorf("%s: another issuer gets the development secret", test.name)
		}
	}
}

func TestListeningOn(t *testing.T) {
	t.Parallel()
	c := load(t, development.with("HTTP_ADDR", "127.0.0.1:0")).ListeningOn("127.0.0.1:40123")
	if c.PublicURL != "http://localhost:40123" || c.OIDC.Issuer != "http://localhost:40123/dev/idp" || !c.DevIssuer {
		t.Errorf("derived %s and %s", c.PublicURL, c.OIDC.Issuer)
	}
	c = load(t, development.with("HTTP_ADDR", "127.0.0.1:0", "PUBLIC_URL", "http://localhost:81")).ListeningOn("127.0.0.1:40123")
	if c.PublicURL != "http://localhost:81" || c.OIDC.Issuer != "http://localhost:81/dev/idp" {
		t.Errorf("a given PUBLIC_URL became %s, the issuer %s", c.PublicURL, c.OIDC.Issuer)
	}
	c = load(t, production).ListeningOn("[::]:40123")
	if c.PublicURL != "https://app.example.com" || c.OIDC.Issuer != "https://id.example.com/realms/main" {
		t.Errorf("in production %s, %s", c.PublicURL, c.OIDC.Issuer)
	}
}

// TestPrintingMasksSecrets: whichever way a Config or a part of it is printed or logged.
func TestPrintingMasksSecrets(t *testing.T) {
	t.Parallel()
	c := load(t, production.with(
		"DATABASE_URL", "postgres://app:hunter2@db.internal:5432/app?sslmode=verify-full&sslpassword=hunter2",
		"DATABASE_DIRECT_URL", "postgres:///app?host=/run/pg&password=hunter2",
		"REDIS_URL", "rediss://hunter2@redis.internal:6380/1",
		"OIDC_CLIENT_SECRET", "hunter2",
		"LLM_BASE_URL", "https://llm.example.com/v1", "LLM_API_KEY", "hunter2", "LLM_MODEL", "small", // example:line
	))
	asJSON, err := json.Marshal(map[string]any{"config": c})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	for _, logger := range []*slog.Logger{slog.New(slog.NewJSONHandler(&logged, nil)), slog.New(slog.NewTextHandler(&logged, nil))} {
		logger.Info("model", "llm", c.LLM) // example:line
		logger.Info("settings", "config", c, "oidc", c.OIDC, "database", c.DatabaseURL, "secret", c.OIDC.ClientSecret)
	}
	printed := []string{
		c.String(), string(asJSON), logged.String(),
		fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %+v %#v", &c, &c, &c),
		fmt.Sprintf("%v %+v %#v", c.OIDC, c.OIDC, c.OIDC), fmt.Sprintf("%q %x", c.OIDC.ClientSecret, c.RedisURL),
		fmt.Sprintf("%v %#v", c.LLM, c.LLM), fmt.Sprintf("%q", c.LLM.APIKey), // example:line
	}
	for _, text := range printed {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("a secret shows: %s", text)
		}
	}
	for _, want := range []string{
		"APP_ENV=production\n", "DATABASE_URL=postgres://xxxxx@db.internal:5432/app?sslmode=verify-full&sslpassword=xxxxx\n",
		"REDIS_URL=rediss://xxxxx@redis.internal:6380/1\n", "OIDC_CLIENT_SECRET=********\n",
		"LLM_API_KEY=********\n", // example:line
		"OIDC_CLIENTS=web,mobile,cli\n", "LOG_LEVEL=info\n", "SESSION_IDLE=24h0m0s\n",
	} {
		if !strings.Contains(c.String(), want) {
			t.Errorf("String lacks %q:\n%s", want, c)
		}
	}
}

func TestUnsetSecretsPrintAsEmpty(t *testing.T) {
	t.Parallel()
	if text := fmt.Sprint(config.Secret(""), config.SecretURL("")); text != "" && text != " " {
		t.Errorf("unset secrets print as %q", text)
	}
	if text := config.SecretURL("://hunter2").String(); strings.Contains(text, "hunter2") {
		t.Errorf("an unreadable URL prints as %q", text)
	}
}
