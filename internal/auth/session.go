package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// rotationGrace is how long a replaced session token still works: requests of another tab are under way with it.
const rotationGrace = 30 * time.Second

// Refresh gives the caller's session a new token. When another tab has just done so, the browser has the new token
// already and there is no cookie to set. Errors: ErrNotSession, ErrInvalid (it ended meanwhile), ErrUnavailable.
func (a *Auth) Refresh(ctx context.Context, c Caller) ([]*http.Cookie, error) {
	if c.Via != ViaSession {
		return nil, ErrNotSession
	}
	token := randomToken()
	err := a.store.RotateSession(ctx, c.SessionID, c.tokenHash[:], hashOf(token), rotationGrace)
	switch {
	case errors.Is(err, store.ErrConflict):
		return nil, nil
	case errors.Is(err, store.ErrNotFound):
		return nil, invalid("the session has ended")
	case err != nil:
		return nil, unavailable("rotate session", err)
	}
	return []*http.Cookie{a.sessionCookie(token, c.SessionExpiresAt.Sub(a.cfg.Now()))}, nil
}

// Ended is what a logout did.
type Ended struct {
	// EndSessionURL is the issuer's logout page to send the browser to; empty if there is none or no session was ended.
	EndSessionURL string
	// Cookies clear the browser's.
	Cookies []*http.Cookie
	// UserID is whose session ended; zero if nobody's did.
	UserID uuid.UUID
}

// Logout ends the session of a credential, or refuses the token that it is; with everywhere it ends all sessions of its
// user and refuses their tokens that were issued up to this second. Ending what has ended already
// is no error. With everywhere the credential must be valid, else ErrInvalid: a caller must not believe that others
// were signed out. ErrUnavailable says that nothing was ended.
func (a *Auth) Logout(ctx context.Context, c Credential, everywhere bool) (Ended, error) {
	ended := Ended{Cookies: []*http.Cookie{a.sessionCookie("", 0)}}
	caller, idToken, err := a.leaver(ctx, c)
	if errors.Is(err, ErrInvalid) && !everywhere {
		return ended, nil
	}
	if err != nil {
		return Ended{}, err
	}
	if err := a.end(ctx, caller, everywhere); err != nil {
		return Ended{}, unavailable("end session", err)
	}
	ended.UserID, ended.EndSessionURL = caller.UserID, a.endSessionURL(idToken)
	return ended, nil
}

// leaver says who logs out, and the ID token that their session began with; empty for a bearer token.
func (a *Auth) leaver(ctx context.Context, c Credential) (Caller, string, error) {
	if c.Kind != Session {
		caller, err := a.Authenticate(ctx, c)
		return caller, "", err
	}
	hash := tokenHash(c.token)
	session, err := a.lookUpSession(ctx, hash)
	return sessionCaller(session, hash, a.cfg.Now()), session.IDToken, err
}

// end ends a session by deleting it, a token by revoking it, and everything of a user by both.
func (a *Auth) end(ctx context.Context, c Caller, everywhere bool) error {
	var err error
	switch {
	case everywhere:
		err = a.store.RevokeUser(ctx, c.UserID)
	case c.Via == ViaBearer:
		err = a.store.RevokeToken(ctx, a.cfg.Issuer, c.TokenID, c.UserID)
	default:
		err = a.store.DeleteSession(ctx, c.SessionID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil // Somebody else was quicker.
	}
	return err
}

// endSessionURL is the issuer's logout page with the way back to this server's.
func (a *Auth) endSessionURL(idToken string) string {
	p := a.provider.Load()
	if p == nil || p.endSession == "" || idToken == "" {
		return ""
	}
	target, err := url.Parse(p.endSession)
	if err != nil {
		return ""
	}
	query := target.Query()
	query.Set("id_token_hint", idToken)
	query.Set("client_id", a.cfg.ClientID)
	query.Set("post_logout_redirect_uri", a.cfg.PublicURL.JoinPath("/").String())
	target.RawQuery = query.Encode()
	return target.String()
}
