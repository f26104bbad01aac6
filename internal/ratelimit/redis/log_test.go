package redis

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"example.com/gatehouse/internal/ratelimit"
)

// TestLogClient is not parallel: the library has one logger.
func TestLogClient(t *testing.T) {
	var quiet, loud bytes.Buffer
	for _, test := range []struct {
		out   *bytes.Buffer
		level slog.Level
	}{{&quiet, slog.LevelInfo}, {&loud, slog.LevelDebug}} {
		LogClient(slog.New(slog.NewTextHandler(test.out, &slog.HandlerOptions{Level: test.level})))
		s := newStore(t, "redis://127.0.0.1:1")
		if _, err := s.Take(t.Context(), []ratelimit.Charge{charge("user", "alice", perHour, 1)}); err == nil {
			t.Error("no error without a server")
		}
		s.Close()
	}
	if quiet.Len() != 0 || !strings.Contains(loud.String(), "failed to dial") {
		t.Errorf("at info %q, at debug %q", quiet.String(), loud.String())
	}
}
