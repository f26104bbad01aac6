package config

import (
	"strings"
	"testing"
)

// TestWhatCannotBeReadIsSaidOnce sets each setting to what it cannot be, in either environment: that is the only fault, and no
// combination with it is another.
func TestWhatCannotBeReadIsSaidOnce(t *testing.T) {
	t.Parallel()
	whole := map[Env]map[string]string{
		Development: {"APP_ENV": "development"},
		Production: {
			"DATABASE_URL": "postgres://app:s3cret@db/app", "PUBLIC_URL": "https://app.example.com", "OIDC_ISSUER": "https://id.example.com",
			"OIDC_CLIENT_SECRET": "s3cret", "OIDC_ORG_CLAIM": "org", "REDIS_URL": "redis://redis",
		},
	}
	for env, given := range whole {
		for _, s := range settings(new(Config)) {
			const bad = "?"
			if s.value.set(bad) == nil {
				continue
			}
			_, err := Load(func(name string) string {
				if name == s.name {
					return bad
				}
				return given[name]
			})
			if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "\n"+s.name+"=") {
				t.Errorf("in %s, %s=%s is said as: %v", env, s.name, bad, err)
			}
		}
	}
}
