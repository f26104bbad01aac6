package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"example.com/gatehouse/internal/telemetry"
)

func TestLoggerFormats(t *testing.T) {
	t.Parallel()
	var asJSON, asText bytes.Buffer
	telemetry.NewLogger(&asJSON, slog.LevelInfo, "json").Info("served", "status", 200)
	telemetry.NewLogger(&asText, slog.LevelInfo, "text").Info("served", "status", 200)
	var record map[string]any
	if err := json.Unmarshal(asJSON.Bytes(), &record); err != nil || record["msg"] != "served" || record["status"] != 200.0 {
		t.Errorf("JSON record %s: %v", asJSON.String(), err)
	}
	if !strings.Contains(asText.String(), "msg=served status=200\n") {
		t.Errorf("text record %s", asText.String())
	}
}

func TestLoggerLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, slog.LevelWarn, "text")
	logger.Info("quiet")
	logger.Warn("loud")
	if strings.Contains(out.String(), "quiet") || !strings.Contains(out.String(), "loud") {
		t.Errorf("at level warn: %s", out.String())
	}
}

func TestLoggerRedactsCredentials(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		logger := telemetry.NewLogger(&out, slog.LevelInfo, format).With("api_key", "hunter2")
		logger.WithGroup("request").Info("served",
			"Authorization", "hunter2", "cookie", "hunter2", "Set-Cookie", "hunter2", "header", "Bearer hunter2", "header", "bearer hunter2",
			"token", "hunter2", "access_token", "hunter2", "refreshToken", "hunter2", "clientSecret", "hunter2", "password", []byte("hunter2"),
			slog.Group("nested", "id-token", "hunter2"),
			"tokens", 12, "tokenId", "jti-1", "path", "/api/v1/tasks", "scheme", "Bearer ")
		if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "aHVudGVyMg") {
			t.Errorf("%s: a credential shows: %s", format, out.String())
		}
		for _, kept := range []string{"12", "jti-1", "/api/v1/tasks", "[redacted]"} {
			if !strings.Contains(out.String(), kept) {
				t.Errorf("%s: %s is missing: %s", format, kept, out.String())
			}
		}
	}
}

func TestRecordsCarryTheRequestID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, slog.LevelInfo, "json")
	ctx := telemetry.WithRequestID(t.Context(), "r-1")
	logger.InfoContext(ctx, "first")
	logger.With("a", 1).InfoContext(ctx, "second")
	logger.WithGroup("g").InfoContext(ctx, "third", "b", 2)
	logger.Info("fourth")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []bool{true, true, true, false} {
		if got := strings.Contains(lines[i], `"requestId":"r-1"`); got != want {
			t.Errorf("record %d: %s", i, lines[i])
		}
	}
	if id := telemetry.RequestID(ctx); id != "r-1" {
		t.Errorf("RequestID = %q", id)
	}
	if id := telemetry.RequestID(t.Context()); id != "" {
		t.Errorf("without one, RequestID = %q", id)
	}
}
