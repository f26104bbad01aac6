package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"example.com/gatehouse/internal/telemetry"
)

func TestLoggerFormats(t *testing.T) {
	t.Parallel()
	var asJSON, asText bytes.Buffer
	telemetry.NewLogger(&asJSON, slog.LevelInfo, "json", nil).Info("served", "status", 200)
	telemetry.NewLogger(&asText, slog.LevelInfo, "text", nil).Info("served", "status", 200)
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
	logger := telemetry.NewLogger(&out, slog.LevelWarn, "text", nil)
	logger.Info("quiet")
	logger.Warn("loud")
	if strings.Contains(out.String(), "quiet") || !strings.Contains(out.String(), "loud") {
		t.Errorf("at level warn: %s", out.String())
	}
}

func TestLoggerRedactsCredentials(t *testing.T) {
	t.Parallel()
	secret := []string{
		"Authorization", "cookie", "Set-Cookie", "token", "access_token", "refreshToken", "clientSecret", "password", "api_key", "id-token",
	}
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		logger := telemetry.NewLogger(&out, slog.LevelInfo, format, nil).With(slog.String("api_key", "hunter2")).WithGroup("request")
		for _, key := range secret {
			logger.Info("served", slog.String(key, "hunter2"), slog.Group("nested", slog.Any(key, []byte("hunter2"))))
		}
		logger.Info("served", slog.String("header", "Bearer hunter2"), slog.String("header", "bearer hunter2"))
		if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "aHVudGVyMg") {
			t.Errorf("%s: a credential shows: %s", format, out.String())
		}
		if n := strings.Count(out.String(), "[redacted]"); n < 2*len(secret) {
			t.Errorf("%s: %d values are redacted: %s", format, n, out.String())
		}
	}
}

func TestLoggerKeepsWhatOnlySoundsSecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	telemetry.NewLogger(&out, slog.LevelInfo, "text", nil).Info("parsed",
		slog.Int("tokens", 12), slog.String("token_id", "jti-1"), slog.String("path", "/api/v1/tasks"), slog.String("scheme", "Bearer "))
	if want := `msg=parsed tokens=12 token_id=jti-1 path=/api/v1/tasks scheme="Bearer "`; !strings.Contains(out.String(), want) {
		t.Errorf("logged %s, want %s", out.String(), want)
	}
}

type requestID struct{}

func TestRecordsCarryTheRequestID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := telemetry.NewLogger(&out, slog.LevelInfo, "json", func(ctx context.Context) string {
		id, _ := ctx.Value(requestID{}).(string)
		return id
	})
	ctx := context.WithValue(t.Context(), requestID{}, "r-1")
	logger.InfoContext(ctx, "first")
	logger.With("a", 1).InfoContext(ctx, "second")
	logger.WithGroup("g").InfoContext(ctx, "third", "b", 2)
	logger.Info("fourth")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []bool{true, true, true, false} {
		if got := strings.Contains(lines[i], `"request_id":"r-1"`); got != want {
			t.Errorf("record %d: %s", i, lines[i])
		}
	}
}
