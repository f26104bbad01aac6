package auth

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// rolesFresh is how long the roles of a session or a token are trusted to make an admin: an admin who lost the role at
// the issuer keeps it here for no longer.
const rolesFresh = time.Hour

// Via is how a caller authenticated.
type Via string

const (
	// ViaSession is the web's session cookie.
	ViaSession Via = "session"
	// ViaBearer is an access token of the issuer.
	ViaBearer Via = "bearer"
)

// A Caller is who makes a request.
type Caller struct {
	UserID, OrgID              uuid.UUID
	Name, Email, OrgName, Plan string
	Roles                      []string
	// Admin is true when the roles hold "admin" and were read from the issuer at most an hour ago.
	Admin bool
	Via   Via
	// SessionID is the session's row, and SessionExpiresAt when it ends however much it is used. Zero for a bearer token.
	SessionID        uuid.UUID
	SessionExpiresAt time.Time
	// CredentialExpiresAt is when this credential ends if nothing more happens: a token's exp, or a session's idle end.
	CredentialExpiresAt time.Time
	// TokenID is the bearer token's jti; empty for a session.
	TokenID string

	// tokenHash is the stored form of the session token that the request came with, which Refresh replaces.
	tokenHash [32]byte
}

func sessionCaller(s store.Session, tokenHash [32]byte, now time.Time) Caller {
	c := memberCaller(s.Member)
	c.Via, c.SessionID, c.tokenHash = ViaSession, s.ID, tokenHash
	c.SessionExpiresAt, c.CredentialExpiresAt = s.ExpiresAt, s.ExpiresAt
	if s.IdleExpiresAt.Before(s.ExpiresAt) {
		c.CredentialExpiresAt = s.IdleExpiresAt
	}
	c.Roles, c.Admin = s.Roles, isAdmin(s.Roles, s.RolesAt, now)
	return c
}

func bearerCaller(m store.Member, t accessToken, now time.Time) Caller {
	c := memberCaller(m)
	c.Via, c.TokenID, c.CredentialExpiresAt = ViaBearer, t.id, t.expires
	c.Roles, c.Admin = t.roles, isAdmin(t.roles, t.issued, now)
	return c
}

func memberCaller(m store.Member) Caller {
	return Caller{
		UserID: m.UserID, OrgID: m.OrgID,
		Name: m.Name, Email: m.Email, OrgName: m.OrgName, Plan: m.Plan,
	}
}

func isAdmin(roles []string, readAt, now time.Time) bool {
	return slices.Contains(roles, "admin") && now.Sub(readAt) <= rolesFresh
}
