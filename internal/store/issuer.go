package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// idpKeyLock is what processes that want to make the issuer's first key take turns at.
const idpKeyLock = "idp_keys"

// An IDPGrant is a code or a refresh token that the development issuer gave out.
type IDPGrant struct {
	// Hash is the hash of the secret that its bearer presents.
	Hash []byte
	// Kind is "code" or "refresh".
	Kind string
	// Family joins all that came from one sign-in.
	Family uuid.UUID
	// Payload is JSON that only the issuer reads.
	Payload   []byte
	ExpiresAt time.Time
}

// IDPKey returns the development issuer's newest signing key, in whatever form the issuer keeps it. If there is none it
// is made, once for all processes; an error of generate is returned wrapped.
func (s *Store) IDPKey(ctx context.Context, generate func() ([]byte, error)) ([]byte, error) {
	key, err := one(ctx, s, "read issuer's key", func(ctx context.Context, q *dbgen.Queries) ([]byte, error) {
		return q.NewestIDPKey(ctx)
	})
	if !errors.Is(err, ErrNotFound) {
		return key, err
	}
	err = all(ctx, s, "make issuer's key", func(ctx context.Context, q *dbgen.Queries) error {
		key, err = firstIDPKey(ctx, q, generate)
		return err
	})
	return key, err
}

func firstIDPKey(ctx context.Context, q *dbgen.Queries, generate func() ([]byte, error)) ([]byte, error) {
	if err := q.LockInTransaction(ctx, idpKeyLock); err != nil {
		return nil, err
	}
	key, err := q.NewestIDPKey(ctx)
	if kindOf(err) != ErrNotFound { //nolint:errorlint // kindOf returns the sentinel itself.
		return key, err
	}
	key, err = generate()
	if err != nil {
		return nil, err
	}
	return key, q.AddIDPKey(ctx, dbgen.AddIDPKeyParams{ID: newID(), Key: key})
}

// PutIDPGrant keeps a grant. ErrConflict: its family has been revoked, or its hash is not new.
func (s *Store) PutIDPGrant(ctx context.Context, g IDPGrant) error {
	return all(ctx, s, "keep grant", func(ctx context.Context, q *dbgen.Queries) error {
		if err := q.PruneIDPGrants(ctx); err != nil {
			return err
		}
		if err := q.LockInTransaction(ctx, g.Family.String()); err != nil {
			return err
		}
		added, err := q.AddIDPGrant(ctx, dbgen.AddIDPGrantParams(g.row()))
		if err == nil && added == 0 {
			return ErrConflict
		}
		return err
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
		grant = grantOf(row)
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

func (g IDPGrant) row() dbgen.UseIDPGrantRow {
	return dbgen.UseIDPGrantRow{Kind: g.Kind, Hash: g.Hash, Family: g.Family, Payload: g.Payload, ExpiresAt: g.ExpiresAt}
}

func grantOf(row dbgen.UseIDPGrantRow) IDPGrant {
	return IDPGrant{Hash: row.Hash, Kind: row.Kind, Family: row.Family, Payload: row.Payload, ExpiresAt: utc(row.ExpiresAt)}
}
