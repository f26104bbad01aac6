package auth

import (
	"context"
	"errors"
	"fmt"

	"example.com/gatehouse/internal/store"
)

// Authenticate says who a credential belongs to. A None or Malformed credential is ErrInvalid without any look-up; a
// session costs one statement, a bearer token a signature check and one statement.
func (a *Auth) Authenticate(ctx context.Context, c Credential) (Caller, error) {
	switch c.Kind {
	case Session:
		return a.authenticateSession(ctx, c.token)
	case Bearer:
		return a.authenticateBearer(ctx, c.token)
	case None, Malformed:
	}
	return Caller{}, fmt.Errorf("%w: %s", ErrInvalid, c)
}

func (a *Auth) authenticateSession(ctx context.Context, token string) (Caller, error) {
	hash := tokenHash(token)
	session, err := a.lookUpSession(ctx, hash)
	if err != nil {
		return Caller{}, err
	}
	return sessionCaller(session, hash, a.cfg.Now()), nil
}

func (a *Auth) lookUpSession(ctx context.Context, hash [32]byte) (store.Session, error) {
	report(a.cfg.Hooks.SessionLookup)
	session, err := a.store.Session(ctx, hash[:], a.cfg.SessionIdle)
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, fmt.Errorf("%w: no such session, or it has ended", ErrInvalid)
	}
	if err != nil {
		return store.Session{}, unavailable("look up session", err)
	}
	return session, nil
}

func (a *Auth) authenticateBearer(ctx context.Context, raw string) (Caller, error) {
	p := a.provider.Load()
	if p == nil {
		return Caller{}, errPending
	}
	report(a.cfg.Hooks.TokenCheck)
	token, err := a.checkAccessToken(ctx, p, raw)
	if err != nil {
		return Caller{}, err
	}
	if err := a.checkRevoked(token); err != nil {
		return Caller{}, err
	}
	member, err := a.store.EnsureUser(ctx, token.identity)
	if err != nil {
		return Caller{}, unavailable("find the token's user", err)
	}
	return bearerCaller(member, token, a.cfg.Now()), nil
}

// errPending is the answer to what needs the issuer before it was discovered.
var errPending = fmt.Errorf("%w: the issuer has not been discovered yet", ErrUnavailable)

// errUnread is why no token is accepted before Apply was called for the first time.
var errUnread = errors.New("what is revoked has not been read yet")

// unavailable wraps a failure that says nothing about the credential.
func unavailable(doing string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, doing, err)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}
