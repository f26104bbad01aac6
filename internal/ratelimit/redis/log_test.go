package redis

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

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

// The URL may change the deadline of a call, within reason.
func TestTimeoutInURL(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{
		"": 50 * time.Millisecond, "?read_timeout=200ms": 200 * time.Millisecond,
		"?read_timeout=0s": 0, "?read_timeout=soon": 0, "?read_timeout=1h": 0,
	} {
		s, err := New(Config{URL: "redis://127.0.0.1:1/0" + query, Secret: make([]byte, minSecret)})
		if want == 0 {
			if err == nil {
				t.Errorf("%q was accepted", query)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Timeout() != want {
			t.Errorf("%q gives %v, want %v", query, s.Timeout(), want)
		}
		s.Close()
	}
}
