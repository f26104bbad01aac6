package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/dbgen"
)

// claimFor is how long a key is held for a request that is at work: twice what the slowest takes. Only one whose
// process has died holds it that long. One that was merely slow writes nothing any more; see KeepAnswer.
const claimFor = 30 * time.Second

// A Key names a request, so that it can be told when it comes again.
type Key struct {
	UserID      uuid.UUID
	Route, Text string
	// Fingerprint is a hash of the request.
	Fingerprint []byte
	// KeepFor is how long its answer is kept.
	KeepFor time.Duration
}

// A Claim holds a key for one request at work. It belongs to one goroutine.
type Claim struct {
	key  Key
	id   uuid.UUID
	kept bool
}

// An Answer is a request's success, as it is kept for whoever sends the same again.
type Answer struct {
	Status                int
	Location, ContentType string
	Body                  []byte
}

// A Keep has the answer to a write kept in the transaction of the write.
type Keep[T any] struct {
	Claim *Claim
	// Answer makes the answer of what was written.
	Answer func(T) (Answer, error)
}

// ClaimKey returns a claim if the key is new, and the answer if it has one. The claim must end in a kept answer or in
// ReleaseKey. ErrKeyAtWork: the same request is at work. ErrKeyReused: the key is another request's. ErrNotFound: the user
// is gone.
func (s *Store) ClaimKey(ctx context.Context, key Key) (*Claim, *Answer, error) {
	var claim *Claim
	var kept *Answer
	err := all(ctx, s, "claim idempotency key", func(ctx context.Context, q *dbgen.Queries) error {
		var err error
		if claim, err = claimKey(ctx, q, key); err != nil || claim != nil {
			return err
		}
		kept, err = keptAnswer(ctx, q, key)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return claim, kept, nil
}

// claimKey returns nil if the key is taken. Whoever claims also clears away what others have left.
func claimKey(ctx context.Context, q *dbgen.Queries, key Key) (*Claim, error) {
	claim := &Claim{key: key, id: newID()}
	claimed, err := q.ClaimKey(ctx, dbgen.ClaimKeyParams{
		UserID: key.UserID, Route: key.Route, Key: key.Text, Fingerprint: key.Fingerprint, Claim: claim.id, ClaimFor: claimFor,
	})
	if err != nil || claimed == 0 {
		return nil, err
	}
	return claim, q.PruneKeys(ctx)
}

func keptAnswer(ctx context.Context, q *dbgen.Queries, key Key) (*Answer, error) {
	row, err := q.KeptAnswer(ctx, dbgen.KeptAnswerParams{UserID: key.UserID, Route: key.Route, Key: key.Text})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, ErrKeyAtWork // Released a moment ago: the next try claims it.
	case err != nil:
		return nil, err
	case !bytes.Equal(row.Fingerprint, key.Fingerprint):
		return nil, ErrKeyReused
	case row.Status == nil:
		return nil, ErrKeyAtWork
	}
	return &Answer{Status: int(*row.Status), Location: row.Location, ContentType: row.ContentType, Body: row.Body}, nil
}

// KeepAnswer keeps the answer of a request that wrote nothing. ErrKeyAtWork: it took so long that another has the key.
// A claim that has kept its answer is left as it is.
func (s *Store) KeepAnswer(ctx context.Context, c *Claim, a Answer) error {
	if c.kept {
		return nil
	}
	err := do(ctx, s, "keep answer", func(ctx context.Context, q *dbgen.Queries) error { return c.keep(ctx, q, a) })
	c.kept = err == nil
	return err
}

// ReleaseKey lets go of the key of a request that came to nothing, so that it may be sent again. A claim that has kept its
// answer, or has been lost to another, is left as it is.
func (s *Store) ReleaseKey(ctx context.Context, c *Claim) error {
	if c.kept {
		return nil
	}
	return do(ctx, s, "release idempotency key", func(ctx context.Context, q *dbgen.Queries) error {
		return q.ReleaseKey(ctx, dbgen.ReleaseKeyParams{UserID: c.key.UserID, Route: c.key.Route, Key: c.key.Text, Claim: c.id})
	})
}

func (c *Claim) keep(ctx context.Context, q *dbgen.Queries, a Answer) error {
	status := int32(a.Status) //nolint:gosec // An HTTP status.
	kept, err := q.KeepAnswer(ctx, dbgen.KeepAnswerParams{
		UserID: c.key.UserID, Route: c.key.Route, Key: c.key.Text, Claim: c.id, KeepFor: c.key.KeepFor,
		Status: &status, Location: a.Location, ContentType: a.ContentType,
		Body: append([]byte{}, a.Body...), // Empty, where there is none, and not NULL.
	})
	if err == nil && kept == 0 {
		return ErrKeyAtWork
	}
	return err
}

// writing runs one write, and keeps its answer with it: both stand, or neither. Without a Keep it is a single statement.
func writing[T any](ctx context.Context, s *Store, doing string, k *Keep[T], write func(context.Context, *dbgen.Queries) (T, error)) (T, error) {
	if k == nil {
		return one(ctx, s, doing, write)
	}
	var written T
	err := all(ctx, s, doing, func(ctx context.Context, q *dbgen.Queries) error {
		var err error
		if written, err = write(ctx, q); err != nil {
			return err
		}
		answer, err := k.Answer(written)
		if err != nil {
			return err
		}
		return k.Claim.keep(ctx, q, answer)
	})
	if err != nil {
		var none T
		return none, err
	}
	k.Claim.kept = true
	return written, nil
}
