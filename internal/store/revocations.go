package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

const (
	// TokenLife is the longest that an access token is good for, counted from when it was issued and whatever it says
	// itself: revocations are kept for as long and a little more.
	TokenLife = 24 * time.Hour
	// keepRevocations leaves room for clocks that differ.
	keepRevocations = TokenLife + time.Hour
	// keepLogoutTokens is longer than the age at which a logout token is refused anyway.
	keepLogoutTokens = time.Hour
)

// A RevocationKind says what a revocation's key names.
type RevocationKind string

// The kinds of revocations.
const (
	// RevokedUser refuses a user's tokens that were issued up to the second of the revocation.
	RevokedUser RevocationKind = "user"
	// RevokedSession refuses the tokens of a session at the issuer, by their sid.
	RevokedSession RevocationKind = "session"
	// RevokedToken refuses one token, by its jti.
	RevokedToken RevocationKind = "token"
)

// A RevocationKey is the hash of an issuer and of an id that it gave: a subject, sid or jti.
type RevocationKey [sha256.Size]byte

// KeyOf hashes an issuer's id.
func KeyOf(issuer, id string) RevocationKey { return sha256.Sum256([]byte(issuer + " " + id)) }

// A Revocation refuses tokens although their signatures are good.
type Revocation struct {
	Kind RevocationKind `json:"kind"`
	Key  RevocationKey  `json:"key"`
	// UserID is whose tokens they are; zero if the user was never here.
	UserID uuid.UUID `json:"userId"`
	// At is when it was revoked, ExpiresAt when nothing that it refuses can be valid any more.
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Revocations are all that still refuse anything.
func (s *Store) Revocations(ctx context.Context) ([]Revocation, error) {
	rows, err := one(ctx, s, "read revocations", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.Revocation, error) {
		return q.Revocations(ctx)
	})
	revocations := make([]Revocation, 0, len(rows))
	for _, row := range rows {
		revocations = append(revocations, revocationOf(row))
	}
	return revocations, err
}

// ReadRevocation reads the subject of a change.
func ReadRevocation(subject string) (Revocation, error) {
	var r Revocation
	if err := json.Unmarshal([]byte(subject), &r); err != nil {
		return Revocation{}, fmt.Errorf("read revocation %q: %w", subject, err)
	}
	return r, nil
}

// RevokeUser ends all of a user's sessions and refuses their tokens that were issued up to this second, in every process
// within a second. ErrNotFound: there is no such user.
func (s *Store) RevokeUser(ctx context.Context, userID uuid.UUID) error {
	return s.tell(ctx, "revoke user", func(ctx context.Context, q *dbgen.Queries) error {
		user, err := q.UserIdentity(ctx, userID)
		if err != nil {
			return err
		}
		return revokeUser(ctx, q, user.Issuer, user.Subject)
	})
}

// RevokeToken refuses a token by its jti.
func (s *Store) RevokeToken(ctx context.Context, issuer, tokenID string, userID uuid.UUID) error {
	return s.tell(ctx, "revoke token", func(ctx context.Context, q *dbgen.Queries) error {
		return revoke(ctx, q, RevokedToken, KeyOf(issuer, tokenID), &userID)
	})
}

// A Logout is what an issuer says when somebody has left it. Subject or SID may be empty, not both.
type Logout struct {
	Issuer, Subject, SID string
	// TokenID is the jti of the issuer's message, which is obeyed once.
	TokenID string
}

// EndSessions obeys a logout: with an SID it ends the sessions here that came from that session and refuses its tokens;
// without one it does what RevokeUser does, for a user who was never here too. ErrConflict: it was obeyed before.
func (s *Store) EndSessions(ctx context.Context, l Logout) error {
	return s.tell(ctx, "end sessions", func(ctx context.Context, q *dbgen.Queries) error {
		key := KeyOf(l.Issuer, l.TokenID)
		used, err := q.UseLogoutToken(ctx, dbgen.UseLogoutTokenParams{Key: key[:], KeepFor: keepLogoutTokens})
		if err != nil {
			return err
		}
		if used == 0 {
			return ErrConflict
		}
		if l.SID == "" {
			return revokeUser(ctx, q, l.Issuer, l.Subject)
		}
		return revokeSession(ctx, q, l)
	})
}

// revokeUser takes turns with signing in, so that a session that is being made is either ended or refused.
func revokeUser(ctx context.Context, q *dbgen.Queries, issuer, subject string) error {
	if err := q.LockIdentity(ctx, dbgen.LockIdentityParams{Issuer: issuer, Subject: subject}); err != nil {
		return err
	}
	userID, err := userIDOf(ctx, q, issuer, subject)
	if err != nil {
		return err
	}
	if userID != nil {
		if err := q.DeleteSessionsOf(ctx, *userID); err != nil {
			return err
		}
	}
	return revoke(ctx, q, RevokedUser, KeyOf(issuer, subject), userID)
}

// userIDOf is nil for somebody who was never here.
func userIDOf(ctx context.Context, q *dbgen.Queries, issuer, subject string) (*uuid.UUID, error) {
	id, err := q.UserID(ctx, dbgen.UserIDParams{Issuer: issuer, Subject: subject})
	if errors.Is(kindOf(err), ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &id, nil
}

func revokeSession(ctx context.Context, q *dbgen.Queries, l Logout) error {
	key := KeyOf(l.Issuer, l.SID)
	if err := q.LockInTransaction(ctx, lockOfSID(key)); err != nil {
		return err
	}
	owners, err := q.DeleteSessionsBySID(ctx, dbgen.DeleteSessionsBySIDParams{SID: l.SID, Issuer: l.Issuer, Subject: l.Subject})
	if err != nil {
		return err
	}
	var userID *uuid.UUID
	if len(owners) > 0 {
		userID = &owners[0]
	}
	return revoke(ctx, q, RevokedSession, key, userID)
}

// lockOfSID is what signing in and ending a session of the issuer take turns at.
func lockOfSID(key RevocationKey) string { return fmt.Sprintf("sid %x", key) }

func revoke(ctx context.Context, q *dbgen.Queries, kind RevocationKind, key RevocationKey, userID *uuid.UUID) error {
	row, err := q.Revoke(ctx, dbgen.RevokeParams{Kind: string(kind), Key: key[:], UserID: userID, KeepFor: keepRevocations})
	if err != nil {
		return err
	}
	subject, err := json.Marshal(revocationOf(row))
	if err != nil {
		return fmt.Errorf("encode revocation: %w", err)
	}
	return announce(ctx, q, Change{Kind: ChangedRevocations, Subject: string(subject)})
}

func revocationOf(row dbgen.Revocation) Revocation {
	r := Revocation{Kind: RevocationKind(row.Kind), At: utc(row.At), ExpiresAt: utc(row.ExpiresAt)}
	copy(r.Key[:], row.Key)
	if row.UserID != nil {
		r.UserID = *row.UserID
	}
	return r
}
