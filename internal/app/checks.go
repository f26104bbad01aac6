package app

import (
	"context"
	"fmt"

	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/ratelimit/redis"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/telemetry"
)

// checks find what is wrong with settings that other packages read, so that all of it is said at once and before the database
// is waited for.
func checks(ctx context.Context, getenv func(string) string) []config.Check {
	return []config.Check{
		checkURL("DATABASE_URL", store.CheckURL, func(cfg config.Config) config.SecretURL { return cfg.DatabaseURL }),
		checkURL("DATABASE_DIRECT_URL", store.CheckURL, func(cfg config.Config) config.SecretURL { return cfg.DatabaseDirectURL }),
		checkURL("REDIS_URL", redis.CheckURL, func(cfg config.Config) config.SecretURL { return cfg.RedisURL }),
		{
			// Where each budget is counted, and what it may cost, is said by all of them.
			Settings: []string{
				"BUDGETS_FILE", "APP_ENV", "REDIS_URL", "EDGE_STORE", "REPLICAS",
				"LLM_BASE_URL", // example:line
			},
			Fault: func(cfg config.Config) error {
				_, err := readBudgets(cfg)
				return err
			},
		},
		{Fault: func(config.Config) error { return telemetry.CheckTracing(ctx, getenv) }},
	}
}

func checkURL(setting string, check func(string) error, of func(config.Config) config.SecretURL) config.Check {
	return config.Check{Settings: []string{setting}, Fault: func(cfg config.Config) error {
		if of(cfg) == "" {
			return nil
		}
		if err := check(string(of(cfg))); err != nil {
			return fmt.Errorf("%s: %w", setting, err)
		}
		return nil
	}}
}
