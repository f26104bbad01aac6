package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// A Process is a running server, and what it decides by.
type Process struct {
	ID uuid.UUID
	// Hash is that of the settings, so that two processes agree if theirs are the same.
	Hash string
	// Settings are by name, in words; they hold no secrets.
	Settings map[string]string
}

// Announce says that the process is alive, and returns those others that are and decide otherwise: one of each hash, ten
// at most. Who has not announced itself for liveFor, by the database's clock, is forgotten.
func (s *Store) Announce(ctx context.Context, p Process, liveFor time.Duration) ([]Process, error) {
	settings, err := json.Marshal(p.Settings)
	if err != nil {
		return nil, fmt.Errorf("encode settings of process: %w", err)
	}
	var rows []dbgen.DisagreeingProcessesRow
	err = all(ctx, s, "announce process", func(ctx context.Context, q *dbgen.Queries) error {
		if err := q.AnnounceProcess(ctx, dbgen.AnnounceProcessParams{ID: p.ID, Hash: p.Hash, Settings: settings}); err != nil {
			return err
		}
		if err := q.ForgetDeadProcesses(ctx, liveFor); err != nil {
			return err
		}
		var err error
		rows, err = q.DisagreeingProcesses(ctx, p.Hash)
		return err
	})
	if err != nil {
		return nil, err
	}
	return processesOf(rows)
}

func processesOf(rows []dbgen.DisagreeingProcessesRow) ([]Process, error) {
	processes := make([]Process, len(rows))
	for i, row := range rows {
		processes[i] = Process{ID: row.ID, Hash: row.Hash}
		if err := json.Unmarshal(row.Settings, &processes[i].Settings); err != nil {
			return nil, fmt.Errorf("decode settings of process %s: %w", row.ID, err)
		}
	}
	return processes, nil
}

// Withdraw says that the process ends.
func (s *Store) Withdraw(ctx context.Context, id uuid.UUID) error {
	return do(ctx, s, "withdraw process", func(ctx context.Context, q *dbgen.Queries) error { return q.WithdrawProcess(ctx, id) })
}
