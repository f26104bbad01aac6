package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/telemetry"
)

// Each kind of disagreement is said once, and an outage of the database once, however long it lasts.
func TestAgreement(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var others []store.Process
	var fault error
	settings := map[string]string{"user": "100", "org": "600", "TRUSTED_PROXIES": ""}
	a := &agreement{
		id: uuid.New(), log: slog.New(slog.NewTextHandler(&log, nil)), warned: map[string]bool{}, metrics: telemetry.New(),
		decidesBy: func() (string, map[string]string) { return settings["user"], settings },
		announce: func(context.Context, store.Process, time.Duration) ([]store.Process, error) {
			return others, fault
		},
	}
	compare := func() string {
		log.Reset()
		a.compare(t.Context())
		a.compare(t.Context())
		return log.String()
	}
	if said := compare(); said != "" {
		t.Errorf("alone: %s", said)
	}
	others = []store.Process{{ID: uuid.New(), Hash: "200", Settings: map[string]string{"user": "200", "org": "600", "TRUSTED_PROXIES": "10.0.0.1"}}}
	said := compare()
	if strings.Count(said, "decides otherwise") != 1 || strings.Contains(said, "org:") ||
		!strings.Contains(said, "TRUSTED_PROXIES: none here, 10.0.0.1 there") || !strings.Contains(said, "user: 100 here, 200 there") {
		t.Errorf("with another: %s", said)
	}
	settings = map[string]string{"user": "300"}
	if said := compare(); !strings.Contains(said, "user: 300 here, 200 there") {
		t.Errorf("with other settings, as after SIGHUP: %s", said)
	}
	fault = errors.New("down")
	if said := compare(); strings.Count(said, "cannot be told") != 1 {
		t.Errorf("without the database: %s", said)
	}
	others, fault = nil, nil
	if said := compare(); strings.Count(said, "can be told again") != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "lasted=") {
		t.Errorf("with the database again: %s", said)
	}
	if said := compare(); said != "" {
		t.Errorf("alone again: %s", said)
	}
	for i := range 3 * maxWarned {
		others = []store.Process{{ID: uuid.New(), Hash: strings.Repeat("x", i+1)}}
		a.compare(t.Context())
	}
	if len(a.warned) > maxWarned {
		t.Errorf("%d hashes are remembered", len(a.warned))
	}
}
