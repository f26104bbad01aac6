package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// idpKeyLock is what processes that want to add a key of the issuer take turns at.
const idpKeyLock = "idp_keys"

// An IDPGrant is a code or a refresh token that the development issuer gave out.
type IDPGrant struct {
	// Kind is "code" or "refresh".
	Kind string
	// Hash is the hash of the secret that its bearer presents.
	Hash []byte
	// Family joins all that came from one sign-in.
	Family uuid.UUID
	// Payload is JSON that only the issuer reads.
	Payload []byte
}

// An IDPKey is a signing key of the development issuer, in whatever form the issuer keeps it.
type IDPKey struct {
	Key []byte
	// Age is how long ago it was made.
	Age time.Duration
}

// IDPKeyRules say how long signing keys live.
type IDPKeyRules struct {
	// RotateAfter is the age at which the newest key is followed by another.
	RotateAfter time.Duration
	// KeepFor is how long a key that was replaced is kept.
	KeepFor time.Duration
	// Generate makes a key. It may take its time.
	Generate func() ([]byte, error)
}

// IDPKeys returns the development issuer's signing keys, newest first. Where there is none, or the newest is too old,
// one is made, once for all processes. An error of Generate is returned wrapped.
func (s *Store) IDPKeys(ctx context.Context, rules IDPKeyRules) ([]IDPKey, error) {
	keys, err := s.readIDPKeys(ctx)
	if err != nil || len(keys) > 0 && keys[0].Age < rules.RotateAfter {
		return keys, err
	}
	key, err := rules.Generate() // Outside of any transaction: on a busy machine it takes longer than a call may.
	if err != nil {
		return nil, fmt.Errorf("make issuer's key: %w", err)
	}
	if err := s.addIDPKey(ctx, key, rules); err != nil {
		return nil, err
	}
	return s.readIDPKeys(ctx)
}

func (s *Store) readIDPKeys(ctx context.Context) ([]IDPKey, error) {
	rows, err := one(ctx, s, "read issuer's keys", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.IDPKeysRow, error) {
		return q.IDPKeys(ctx)
	})
	keys := make([]IDPKey, 0, len(rows))
	for _, row := range rows {
		keys = append(keys, IDPKey(row))
	}
	return keys, err
}

func (s *Store) addIDPKey(ctx context.Context, key []byte, rules IDPKeyRules) error {
	return all(ctx, s, "keep issuer's key", func(ctx context.Context, q *dbgen.Queries) error {
		if err := q.LockInTransaction(ctx, idpKeyLock); err != nil {
			return err
		}
		if err := q.PruneIDPKeys(ctx, rules.KeepFor); err != nil {
			return err
		}
		return q.AddIDPKey(ctx, dbgen.AddIDPKeyParams{ID: newID(), Key: key, RotateAfter: rules.RotateAfter})
	})
}

// PutIDPGrant keeps a grant for so long, by the database's clock. ErrConflict: its family has been revoked, or its hash is
// not new.
func (s *Store) PutIDPGrant(ctx context.Context, g IDPGrant, keepFor time.Duration) error {
	return all(ctx, s, "keep grant", func(ctx context.Context, q *dbgen.Queries) error {
		if err := q.LockInTransaction(ctx, g.Family.String()); err != nil {
			return err
		}
		added, err := q.AddIDPGrant(ctx, dbgen.AddIDPGrantParams{
			Kind: g.Kind, Hash: g.Hash, Family: g.Family, Payload: g.Payload, KeepFor: keepFor,
		})
		if err != nil {
			return err
		}
		if added == 0 {
			return ErrConflict
		}
		return q.PruneIDPGrants(ctx) // Last: whoever holds rows must not wait for the lock that revoking takes first.
	})
}

// TakeIDPGrant uses a grant, which only the first to take it may: used tells the others. ErrNotFound: there is none, it
// has expired or its family was revoked.
func (s *Store) TakeIDPGrant(ctx context.Context, kind string, hash []byte) (grant IDPGrant, used bool, err error) {
	err = do(ctx, s, "take grant", func(ctx context.Context, q *dbgen.Queries) error {
		row, err := q.UseIDPGrant(ctx, dbgen.UseIDPGrantParams{Kind: kind, Hash: hash})
		if kindOf(err) == ErrNotFound { //nolint:errorlint // kindOf returns the sentinel itself.
			used = true
			var late dbgen.UsedIDPGrantRow
			late, err = q.UsedIDPGrant(ctx, dbgen.UsedIDPGrantParams{Kind: kind, Hash: hash})
			row = dbgen.UseIDPGrantRow(late)
		}
		grant = IDPGrant(row)
		return err
	})
	if err != nil {
		return IDPGrant{}, false, err
	}
	return grant, used, nil
}

// RevokeIDPFamily makes all grants of a sign-in worthless, those that are being made at this moment included.
func (s *Store) RevokeIDPFamily(ctx context.Context, family uuid.UUID) error {
	return all(ctx, s, "revoke grants", func(ctx context.Context, q *dbgen.Queries) error {
		if err := q.LockInTransaction(ctx, family.String()); err != nil {
			return err
		}
		return q.RevokeIDPFamily(ctx, family)
	})
}
