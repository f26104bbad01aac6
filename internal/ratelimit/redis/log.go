package redis

import (
	"context"
	"fmt"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
)

// LogClient hands what the client library has to say to log, at level debug. The library has one logger for the whole
// process and writes a line for each connection that it cannot make; an outage is the limiter's to report, once.
func LogClient(log *slog.Logger) { goredis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

// Printf implements the library's logger.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client", slog.String("detail", fmt.Sprintf(format, args...)))
	}
}
