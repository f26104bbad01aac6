package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// A rule is a combination of settings that must not be. Its message names the setting and the fix.
type rule struct {
	settings []string // those that it looks at; where one of them cannot be read, that is said instead
	broken   bool
	message  string
}

// broken returns the faults of the rules that are, as far as what they look at could be read.
func (c Config) broken(rules []rule) []error {
	var faults []error
	for _, r := range rules {
		if r.broken && !slices.ContainsFunc(r.settings, c.isUnread) {
			faults = append(faults, errors.New(r.message))
		}
	}
	return faults
}

// databaseFaults are those that keep a database from being found.
func (c Config) databaseFaults() []error {
	production := c.Env == Production
	return c.broken([]rule{
		{
			[]string{"APP_ENV", "DATABASE_URL"},
			production && c.DatabaseURL == "",
			"DATABASE_URL is empty, and the embedded database is not for production: set it to postgres://user:password@host/database, or APP_ENV=development",
		},
		{
			[]string{"APP_ENV", "DATABASE_URL"},
			production && isDefault(password(c.DatabaseURL)),
			"DATABASE_URL has a default password: give the database user a password of its own",
		},
		{
			[]string{"APP_ENV", "DATABASE_DIRECT_URL"},
			production && isDefault(password(c.DatabaseDirectURL)),
			"DATABASE_DIRECT_URL has a default password: give the database user a password of its own",
		},
		{
			[]string{"DATABASE_URL", "DATABASE_DIRECT_URL"},
			c.DatabaseURL == "" && c.DatabaseDirectURL != "",
			"DATABASE_DIRECT_URL is set without DATABASE_URL: set DATABASE_URL too, or neither",
		},
	})
}

// serverFaults are those that keep a server from being run.
func (c Config) serverFaults() []error {
	all := c.databaseFaults()
	all = append(all, c.consistencyFaults()...)
	switch {
	case c.isUnread("APP_ENV"):
		return all // Which of the others hold is not known.
	case c.Env == Production:
		return append(all, c.productionFaults()...)
	}
	return append(all, c.developmentFaults()...)
}

// consistencyFaults are settings that contradict each other, wherever the server runs.
func (c Config) consistencyFaults() []error {
	return c.broken([]rule{
		{
			[]string{"APP_ENV", "HTTP_ADDR", "ADMIN_ADDR"},
			c.HTTPAddr == c.AdminAddr && !strings.HasSuffix(c.HTTPAddr, ":0"),
			"ADMIN_ADDR is the same as HTTP_ADDR: set another port, since what it serves is not for the public",
		},
		{
			[]string{"SESSION_IDLE", "SESSION_MAX"},
			c.SessionIdle > c.SessionMax,
			"SESSION_IDLE is longer than SESSION_MAX: lower it, or raise SESSION_MAX",
		},
		{
			[]string{"EDGE_STORE", "REDIS_URL"},
			c.EdgeStore == EdgeInRedis && c.RedisURL == "",
			"EDGE_STORE is redis without REDIS_URL: set REDIS_URL, or EDGE_STORE=memory",
		},
		// example:begin
		{
			[]string{"LLM_BASE_URL", "LLM_MODEL"},
			c.LLM.BaseURL != "" && c.LLM.Model == "",
			"LLM_MODEL is empty: set the name of the model to use at LLM_BASE_URL, or unset LLM_BASE_URL for the local parser",
		},
		{
			[]string{"LLM_BASE_URL", "LLM_MODEL"},
			c.LLM.BaseURL == "" && c.LLM.Model != "",
			"LLM_MODEL is set without LLM_BASE_URL: set LLM_BASE_URL to an OpenAI-compatible API, or unset LLM_MODEL for the local parser",
		},
		// example:end
	})
}

// productionFaults are what only a developer's machine may do.
func (c Config) productionFaults() []error {
	return c.broken([]rule{
		{
			[]string{"PUBLIC_URL"},
			c.PublicURL == "",
			"PUBLIC_URL is empty: set it to the origin that browsers use, such as https://app.example.com",
		},
		{
			[]string{"PUBLIC_URL"},
			strings.HasPrefix(c.PublicURL, "http:"),
			"PUBLIC_URL is http, which lets anyone on the way take a session: set its https:// origin and end TLS at a proxy, or set APP_ENV=development",
		},
		{
			[]string{"OIDC_ISSUER"},
			c.OIDC.Issuer == "",
			"OIDC_ISSUER is empty, and the development issuer, which signs anybody in, is not for production: set your issuer's URL, or APP_ENV=development",
		},
		{
			[]string{"OIDC_ISSUER"},
			strings.HasPrefix(c.OIDC.Issuer, "http:"),
			"OIDC_ISSUER is http, so its keys could be forged on the way: set its https:// URL",
		},
		{
			[]string{"DEV_ISSUER"},
			c.devIssuer != "",
			"DEV_ISSUER is set, and the development issuer signs anybody in: unset it, or set APP_ENV=development",
		},
		{
			[]string{"OIDC_CLIENT_SECRET"},
			c.OIDC.ClientSecret == "",
			"OIDC_CLIENT_SECRET is empty: set the secret that the issuer gave to the client of OIDC_CLIENT_ID",
		},
		{
			[]string{"OIDC_CLIENT_SECRET"},
			isDefault(string(c.OIDC.ClientSecret)),
			"OIDC_CLIENT_SECRET is a default: set the secret that the issuer gave to the client of OIDC_CLIENT_ID",
		},
		{
			[]string{"REDIS_URL"},
			isDefault(password(c.RedisURL)),
			"REDIS_URL has a default password: give Redis a password of its own",
		},
		// example:begin
		{
			[]string{"LLM_API_KEY"},
			isDefault(string(c.LLM.APIKey)),
			"LLM_API_KEY is a default: set the key of LLM_BASE_URL, or unset it",
		},
		// example:end
		{
			[]string{"OIDC_ORG_CLAIM"},
			c.OIDC.OrgClaim == "",
			"OIDC_ORG_CLAIM is empty: set the claim that holds the immutable id of a user's organisation, or - to give everybody one of their own",
		},
		{
			[]string{"REPLICAS", "REDIS_URL"},
			c.Replicas > 1 && c.RedisURL == "",
			"REPLICAS is above 1 without REDIS_URL, so that each server would admit the whole limit: set REDIS_URL, or REPLICAS=1",
		},
	})
}

// developmentFaults are about the development issuer, which must not be reachable by others unknowingly.
func (c Config) developmentFaults() []error {
	reached := []string{"OIDC_ISSUER", "DEV_ISSUER", "PUBLIC_URL"}
	if !c.publicURLSet {
		reached = append(reached, "HTTP_ADDR") // It follows from that.
	}
	return c.broken([]rule{
		{
			reached,
			c.OIDC.Issuer == "",
			"OIDC_ISSUER is empty and PUBLIC_URL is not this machine: set OIDC_ISSUER, or DEV_ISSUER=public if anybody who reaches it may sign in as anybody",
		},
		{
			[]string{"DEV_ISSUER", "OIDC_ISSUER"},
			c.devIssuer != "" && !c.DevIssuer,
			"DEV_ISSUER is set together with OIDC_ISSUER: unset one of them",
		},
	})
}

// isDefault reports whether a secret is one that examples and images come with.
func isDefault(secret string) bool {
	switch strings.ToLower(secret) {
	case "app", "admin", "root", "changeme", "change-me", "change_me", "secret", "password", "postgres", "redis", "example", "test", "development", string(devClientSecret):
		return true
	default:
		return false
	}
}

// password is the one in a URL, in either of the places where PostgreSQL takes it.
func password(u SecretURL) string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return ""
	}
	if p, set := parsed.User.Password(); set {
		return p
	}
	return parsed.Query().Get("password")
}
