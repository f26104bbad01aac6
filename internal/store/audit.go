package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// An Act is what an administrator does, and why.
type Act struct {
	Actor uuid.UUID
	// Action is the id of the route, Target what it is done to.
	Action, Target string
	// Reason is the administrator's own words.
	Reason    string
	RequestID string
}

// An AuditEntry is an act that was done.
type AuditEntry struct {
	ID    uuid.UUID
	At    time.Time
	Actor Person
	Act   Act
	// Before and After are JSON objects; nil where there was nothing, or is nothing now.
	Before, After []byte
}

// WriteAudit writes down an act that changes nothing in the database.
func (s *Store) WriteAudit(ctx context.Context, act Act) error {
	return do(ctx, s, "write audit", func(ctx context.Context, q *dbgen.Queries) error {
		return act.write(ctx, q, nil, nil)
	})
}

// RevokeUserFor is RevokeUser by an administrator, written into the audit.
func (s *Store) RevokeUserFor(ctx context.Context, act Act, userID uuid.UUID) error {
	return s.tell(ctx, "revoke user", func(ctx context.Context, q *dbgen.Queries) error {
		user, err := q.UserIdentity(ctx, userID)
		if err != nil {
			return err
		}
		if err := revokeUser(ctx, q, user.Issuer, user.Subject); err != nil {
			return err
		}
		return act.write(ctx, q, nil, nil)
	})
}

// A Counter names what one budget counts of one key.
type Counter struct {
	Budget string `json:"budget"`
	Group  string `json:"group"`
	ID     string `json:"id"`
}

// The outcomes of an act that is written down before it is done.
const (
	actBegun  = "begun"
	actDone   = "done"
	actFailed = "failed"
)

// An outcomeRecord is what became of an act, as the audit keeps it.
type outcomeRecord struct {
	Outcome string `json:"outcome"`
}

// BeginAct writes an act that is done elsewhere than in the database into the audit, as begun, and returns the entry's id.
// It stays so unless TellReset or FailAct says what became of it.
func (s *Store) BeginAct(ctx context.Context, act Act) (uuid.UUID, error) {
	return one(ctx, s, "begin act", func(ctx context.Context, q *dbgen.Queries) (uuid.UUID, error) {
		return act.writeAs(ctx, q, nil, outcomeRecord{actBegun})
	})
}

// FailAct writes down that an act which was begun has failed.
func (s *Store) FailAct(ctx context.Context, act uuid.UUID) error {
	return do(ctx, s, "note the failed act", func(ctx context.Context, q *dbgen.Queries) error {
		return endAct(ctx, q, act, actFailed)
	})
}

func endAct(ctx context.Context, q *dbgen.Queries, act uuid.UUID, outcome string) error {
	data, err := record(outcomeRecord{outcome})
	if err != nil {
		return err
	}
	return found(q.EndAct(ctx, dbgen.EndActParams{ID: act, After: data}))
}

// TellReset tells every process that a counter was reset, for those that hold it in memory, and writes down that the act is
// done. Resetting a counter in a shared store is the caller's part, and comes before.
func (s *Store) TellReset(ctx context.Context, act uuid.UUID, c Counter) error {
	subject, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode counter: %w", err)
	}
	return s.tell(ctx, "tell of reset", func(ctx context.Context, q *dbgen.Queries) error {
		if err := announce(ctx, q, Change{Kind: ChangedCounters, Subject: string(subject)}); err != nil {
			return err
		}
		return endAct(ctx, q, act, actDone)
	})
}

// ReadCounter reads from a change of kind ChangedCounters which counter was reset.
func ReadCounter(change string) (Counter, error) {
	var c Counter
	if err := json.Unmarshal([]byte(change), &c); err != nil {
		return c, fmt.Errorf("read counter: %w", err)
	}
	return c, nil
}

// ListAudit returns a page of the audit, newest first.
func (s *Store) ListAudit(ctx context.Context, p Page) ([]AuditEntry, error) {
	before, size := p.params()
	rows, err := one(ctx, s, "list audit", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.ListAuditRow, error) {
		return q.ListAudit(ctx, dbgen.ListAuditParams{BeforeAt: before.CreatedAt, BeforeID: before.ID, PageSize: size})
	})
	entries := make([]AuditEntry, len(rows))
	for i, row := range rows {
		e := row.Audit
		entries[i] = AuditEntry{
			ID: e.ID, At: utc(e.At), Actor: Person{ID: e.Actor, Name: row.ActorName, Email: row.ActorEmail},
			Act:    Act{Actor: e.Actor, Action: e.Action, Target: e.Target, Reason: e.Reason, RequestID: e.RequestID},
			Before: e.Before, After: e.After,
		}
	}
	return entries, err
}

// write puts the act into the audit, in the transaction of what it changes.
func (a Act) write(ctx context.Context, q *dbgen.Queries, before, after any) error {
	_, err := a.writeAs(ctx, q, before, after)
	return err
}

// writeAs is write that tells the entry's id.
func (a Act) writeAs(ctx context.Context, q *dbgen.Queries, before, after any) (uuid.UUID, error) {
	was, err := record(before)
	if err != nil {
		return uuid.Nil, err
	}
	is, err := record(after)
	if err != nil {
		return uuid.Nil, err
	}
	id := newID()
	return id, q.WriteAudit(ctx, dbgen.WriteAuditParams{
		ID: id, Actor: a.Actor, Action: a.Action, Target: a.Target, Before: was, After: is, Reason: a.Reason, RequestID: a.RequestID,
	})
}

// record is a state as JSON, nil for none.
func record(state any) ([]byte, error) {
	if state == nil {
		return nil, nil
	}
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode for the audit: %w", err)
	}
	return data, nil
}
