package auth

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"example.com/gatehouse/internal/store"
)

// logoutFresh is how long after its issue a logout token is obeyed. Issuers send it at once and try again for a little.
const logoutFresh = 5 * time.Minute

// logoutEvent is the member of the events claim that makes a token a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// ObeyLogout does what a logout token of the issuer says (OpenID Connect Back-Channel Logout 1.0): with a sid it ends the
// sessions that came from that session, with a sub alone all of the user's, and refuses the tokens that belong to them.
//
// ErrInvalid: the token is no good, too old, or was obeyed before. ErrUnavailable: it cannot be checked or obeyed now,
// and the issuer may send it again.
func (a *Auth) ObeyLogout(ctx context.Context, raw string) error {
	p := a.provider.Load()
	if p == nil {
		return errPending
	}
	token, err := a.checkLogoutToken(ctx, p, raw)
	if err != nil {
		return err
	}
	err = a.store.EndSessions(ctx, store.Logout{
		Issuer: a.cfg.Issuer, Subject: token.Subject, SID: token.SessionID, TokenID: token.TokenID,
	})
	switch {
	case errors.Is(err, store.ErrConflict):
		return invalid("this logout was obeyed before")
	case err != nil:
		return unavailable("end sessions", err)
	}
	return nil
}

// checkLogoutToken verifies a logout token. go-oidc checks signature, issuer, audience, exp, jti, that there is no nonce
// and that there is a sub or a sid; what is left is checked here.
func (a *Auth) checkLogoutToken(ctx context.Context, p *provider, raw string) (*oidc.LogoutToken, error) {
	if !isJWT(raw) {
		return nil, invalid("the logout token is missing, longer than %d bytes, or not a signed token", maxToken)
	}
	if err := checkLogoutHeader(raw); err != nil {
		return nil, err
	}
	report(a.cfg.Hooks.TokenCheck)
	token, err := verify(ctx, p.idTokens.VerifyLogout, raw)
	if err != nil {
		return nil, err
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return nil, invalid("read claims: %w", err)
	}
	return token, a.checkLogoutClaims(token, c)
}

// checkLogoutHeader takes the type that the specification recommends, and those of issuers that do not follow it.
func checkLogoutHeader(raw string) error {
	h, err := parseHeader(raw)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc([]string{"logout+jwt", "JWT", ""}, h.isType) {
		return invalid("token of type %q is not a logout token", h.Type)
	}
	return nil
}

func (a *Auth) checkLogoutClaims(token *oidc.LogoutToken, c claims) error {
	now := a.cfg.Now()
	switch issued := c.time("iat"); {
	case !c.isLogout():
		return invalid("the events claim names no back-channel logout")
	case !c.has("iat"):
		return invalid("the logout token has no iat")
	case issued.After(now.Add(leeway)):
		return invalid("the logout token was issued in the future")
	case issued.Before(now.Add(-logoutFresh - leeway)):
		return invalid("the logout token was issued more than %v ago", logoutFresh)
	case token.Subject != "" && !isID(token.Subject), token.SessionID != "" && !isID(token.SessionID), !isID(token.TokenID):
		return invalid("the logout token's sub, sid or jti is unusable")
	}
	return nil
}

// isLogout says whether the events claim holds the logout event, whose value is an object.
func (c claims) isLogout() bool {
	var events map[string]json.RawMessage
	var event map[string]json.RawMessage
	return json.Unmarshal(c["events"], &events) == nil && json.Unmarshal(events[logoutEvent], &event) == nil && event != nil
}
