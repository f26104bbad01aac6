package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"example.com/gatehouse/internal/ratelimit/redis"
)

// openRedis makes the store of users' budgets. A Redis that is down is no reason not to start: its budgets fail as
// their rows say.
func (s *server) openRedis(ctx context.Context, secret []byte) error {
	logRedisClient(s.log)
	var err error
	if s.redis, err = redis.New(redis.Config{URL: string(s.cfg.RedisURL), Secret: secret, Trace: s.tracing.Store("redis")}); err != nil {
		return fmt.Errorf("REDIS_URL: %w", err)
	}
	if err := s.watchRedis(); err != nil {
		return err
	}
	// A first call that opens the connections, so that the first request need not.
	if err := s.redis.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "Redis does not answer; budgets counted there fail as their rows say until it does", "error", err)
		return nil
	}
	warnings, err := s.redis.Warnings(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "Redis does not tell its settings", "error", err)
	}
	for _, warning := range warnings {
		s.log.WarnContext(ctx, "a setting of Redis", "warning", warning)
	}
	return nil
}

// redisClientLog is set once: the client library has one logger for the process, which a second server in the same
// process, as tests have, must not change under the first.
var redisClientLog sync.Once //nolint:gochecknoglobals // The library's logger is a global.

func logRedisClient(log *slog.Logger) {
	redisClientLog.Do(func() { redis.LogClient(log) })
}
