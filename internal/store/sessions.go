package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// noteEvery is how exactly a session's last use is known. Writing it down at each request would cost a write a read.
const noteEvery = time.Minute

// A Login is a sign-in under way: what must be known again when the issuer sends the browser back.
type Login struct {
	StateHash       []byte
	Verifier, Nonce string
	ReturnTo        string
	// Charge is what the sign-in was charged, in the form of who will give it back; it may be empty.
	Charge []byte
	// KeepFor is how long it may take; TakeLogin does not tell it.
	KeepFor time.Duration
	// CreatedAt is when it began, by the database's clock.
	CreatedAt time.Time
}

// A NewSession is what a sign-in ends in.
type NewSession struct {
	TokenHash []byte
	UserID    uuid.UUID
	Roles     []string
	RolesAt   time.Time
	// SID and IDToken are the issuer's id of its session and its ID token, either may be empty.
	SID, IDToken string
	// BeganAt is when the sign-in was begun (Login.CreatedAt): a revocation since then makes it worthless.
	BeganAt time.Time
	// IdleFor is how long the session lives without use, MaxFor how long it lives at all.
	IdleFor, MaxFor time.Duration
}

// A Session is a signed-in browser.
type Session struct {
	ID      uuid.UUID
	Member  Member
	Roles   []string
	RolesAt time.Time
	SID     string
	IDToken string

	CreatedAt time.Time
	// ExpiresAt is when it ends in any case; IdleExpiresAt, never later, when it ends if it is not used.
	ExpiresAt, IdleExpiresAt time.Time
}

// CreateLogin keeps a sign-in under way. ErrConflict: the state is not new.
func (s *Store) CreateLogin(ctx context.Context, l Login) error {
	return all(ctx, s, "keep login", func(ctx context.Context, q *dbgen.Queries) error {
		if err := q.PruneLogins(ctx); err != nil {
			return err
		}
		return q.CreateLogin(ctx, dbgen.CreateLoginParams{
			StateHash: l.StateHash, Verifier: l.Verifier, Nonce: l.Nonce, ReturnTo: l.ReturnTo, Charge: bytesOf(l.Charge),
			KeepFor: l.KeepFor,
		})
	})
}

// TakeLogin hands a sign-in out once. ErrNotFound: there is none, it has expired, or somebody took it.
func (s *Store) TakeLogin(ctx context.Context, stateHash []byte) (Login, error) {
	row, err := one(ctx, s, "take login", func(ctx context.Context, q *dbgen.Queries) (dbgen.TakeLoginRow, error) {
		return q.TakeLogin(ctx, stateHash)
	})
	if err != nil {
		return Login{}, err
	}
	return Login{
		StateHash: stateHash, Verifier: row.Verifier, Nonce: row.Nonce, ReturnTo: row.ReturnTo, Charge: row.Charge,
		CreatedAt: utc(row.CreatedAt),
	}, nil
}

// CreateSession begins a session. ErrNotFound: the user is gone. ErrConflict: what the sign-in stands on was revoked
// after it had begun.
//
// What has expired is pruned last: whoever holds rows of sessions must not wait for the locks that revoking takes first.
func (s *Store) CreateSession(ctx context.Context, n NewSession) (Session, error) {
	var session Session
	err := all(ctx, s, "make session", func(ctx context.Context, q *dbgen.Queries) error {
		if err := n.checkRevoked(ctx, q); err != nil {
			return err
		}
		if err := q.CreateSession(ctx, n.params()); err != nil {
			return err
		}
		var err error
		if session, err = findSession(ctx, q, n.TokenHash, n.IdleFor); err != nil {
			return err
		}
		return q.PruneSessions(ctx)
	})
	return session, err
}

// checkRevoked takes turns with revoking, so that of the two the later one sees the other.
func (n NewSession) checkRevoked(ctx context.Context, q *dbgen.Queries) error {
	id, err := q.UserIdentity(ctx, n.UserID)
	if err != nil {
		return err
	}
	if err := q.LockIdentity(ctx, dbgen.LockIdentityParams(id)); err != nil {
		return err
	}
	user, session := KeyOf(id.Issuer, id.Subject), KeyOf(id.Issuer, n.SID)
	if err := q.LockInTransaction(ctx, lockOfSID(session)); err != nil {
		return err
	}
	revoked, err := q.IsRevoked(ctx, dbgen.IsRevokedParams{UserKey: user[:], BeganAt: n.BeganAt, SessionKey: session[:]})
	if err == nil && revoked {
		return ErrConflict
	}
	return err
}

func (n NewSession) params() dbgen.CreateSessionParams {
	return dbgen.CreateSessionParams{
		ID: newID(), UserID: n.UserID, TokenHash: n.TokenHash, Roles: list(n.Roles), RolesAt: n.RolesAt,
		SID: n.SID, IDToken: n.IDToken, MaxFor: n.MaxFor,
	}
}

// Session finds the live session with this token, or with the one before its last rotation within the rotation's
// grace, and notes that it is in use. ErrNotFound: there is none, or it has expired by age or disuse.
func (s *Store) Session(ctx context.Context, tokenHash []byte, idleFor time.Duration) (Session, error) {
	return one(ctx, s, "find session", func(ctx context.Context, q *dbgen.Queries) (Session, error) {
		return findSession(ctx, q, tokenHash, idleFor)
	})
}

func findSession(ctx context.Context, q *dbgen.Queries, tokenHash []byte, idleFor time.Duration) (Session, error) {
	row, err := q.FindSession(ctx, dbgen.FindSessionParams{
		TokenHash: tokenHash, IdleFor: idleFor, NoteAfter: min(noteEvery, idleFor/2),
	})
	if err != nil {
		return Session{}, err
	}
	return sessionOf(row), nil
}

func sessionOf(row dbgen.FindSessionRow) Session {
	s := Session{
		ID: row.ID, Roles: row.Roles, RolesAt: utc(row.RolesAt), SID: row.SID, IDToken: row.IDToken,
		CreatedAt: utc(row.CreatedAt), ExpiresAt: utc(row.ExpiresAt), IdleExpiresAt: utc(row.IdleExpiresAt),
		Member: Member{
			UserID: row.UserID, OrgID: row.OrganisationID, Issuer: row.Issuer, Subject: row.Subject, Email: row.Email,
			Name: row.Name, OrgName: row.OrganisationName, Plan: row.Plan, CreatedAt: utc(row.UserCreatedAt),
		},
	}
	if s.IdleExpiresAt.After(s.ExpiresAt) {
		s.IdleExpiresAt = s.ExpiresAt
	}
	return s
}

// RotateSession gives a session a new token; the old one stays good for grace, because another tab may be using it.
// ErrConflict: the old token was rotated away within its grace, so a newer one is under way to this browser already.
// ErrNotFound: the session is gone, or its token is neither.
func (s *Store) RotateSession(ctx context.Context, id uuid.UUID, oldHash, newHash []byte, grace time.Duration) error {
	return do(ctx, s, "rotate session", func(ctx context.Context, q *dbgen.Queries) error {
		rotated, err := q.RotateSession(ctx, dbgen.RotateSessionParams{ID: id, OldHash: oldHash, NewHash: newHash, Grace: grace})
		if err != nil || rotated > 0 {
			return err
		}
		late, err := q.HasPreviousToken(ctx, dbgen.HasPreviousTokenParams{ID: id, Hash: oldHash})
		if err == nil && late {
			return ErrConflict
		}
		return found(0, err)
	})
}

// DeleteSession ends a session, or ErrNotFound.
func (s *Store) DeleteSession(ctx context.Context, id uuid.UUID) error {
	return do(ctx, s, "delete session", func(ctx context.Context, q *dbgen.Queries) error {
		return found(q.DeleteSession(ctx, id))
	})
}

// DeleteSessionsOf ends all sessions of a user; that there is none is no error.
func (s *Store) DeleteSessionsOf(ctx context.Context, userID uuid.UUID) error {
	return do(ctx, s, "delete sessions of user", func(ctx context.Context, q *dbgen.Queries) error {
		return q.DeleteSessionsOf(ctx, userID)
	})
}

// bytesOf is a value as the database wants it: an empty one is not NULL.
func bytesOf(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// list is a list as the database wants it: an empty one is not NULL.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
