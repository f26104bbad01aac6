package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"example.com/gatehouse/internal/store"
)

// The codes of a sign-in that failed, as the page finds them in /?signin=CODE.
const (
	// CodeExpired: the sign-in took longer than ten minutes, its answer was used before, or the person was signed out
	// everywhere meanwhile. Starting anew mends it.
	CodeExpired = "expired"
	// CodeDenied: the person or the issuer said no.
	CodeDenied = "denied"
	// CodeRefused: the issuer answered with another error, or would not change the code for tokens.
	CodeRefused = "refused"
	// CodeInvalid: what the issuer sent is not acceptable (signature, audience, nonce, times, claims).
	CodeInvalid = "invalid"
	// CodeUnavailable: the issuer or the database could not be reached. Trying again later may work.
	CodeUnavailable = "unavailable"
	// CodeBusy: too many sign-ins were begun from this address, or too much else was. It passes within a minute.
	CodeBusy = "busy"
)

// A SignIn is the end of a sign-in.
type SignIn struct {
	// ReturnTo is the local path that the person came from; "/" if the sign-in failed.
	ReturnTo string
	// Cookies are to be set, whether it succeeded or not.
	Cookies []*http.Cookie
	// Charge is what Login was given, once the sign-in has succeeded: to be given back.
	Charge []byte
	// Code is empty for success, else one of the codes above.
	Code string
	// Cause is why it failed, for the log only.
	Cause error
}

// Location is the path that the callback redirects to.
func (s SignIn) Location() string {
	if s.Code != "" {
		return FailedAt(s.Code)
	}
	return s.ReturnTo
}

// FailedAt is the path of the page that says why a sign-in failed.
func FailedAt(code string) string { return "/?signin=" + url.QueryEscape(code) }

// Login begins a sign-in: the issuer's URL to redirect to, and a cookie that ties the answer to this browser. returnTo
// is where the person wants to be afterwards; anything but a local path becomes "/". charge is kept for whoever ends the
// sign-in, in this process or another. The error is ErrUnavailable.
func (a *Auth) Login(ctx context.Context, returnTo string, charge []byte) (string, *http.Cookie, error) {
	p := a.provider.Load()
	if p == nil {
		return "", nil, errPending
	}
	state, nonce, verifier := randomToken(), randomToken(), oauth2.GenerateVerifier()
	sealed, err := sealCharge(state, charge)
	if err != nil {
		return "", nil, err
	}
	login := store.Login{
		StateHash: hashOf(state), Verifier: verifier, Nonce: nonce,
		ReturnTo: LocalPath(returnTo), Charge: sealed, KeepFor: loginFor,
	}
	if err := a.store.CreateLogin(ctx, login); err != nil {
		return "", nil, unavailable("keep the sign-in", err)
	}
	target := p.oauth.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier))
	return target, a.loginCookie(state, loginFor), nil
}

// Callback ends a sign-in with what the issuer sent the browser back with. A new session replaces one that the browser
// may have had, so that nobody can plant theirs beforehand. The error is ErrCallback, before anything was looked up, or
// ErrUnavailable before discovery; every later failure is a SignIn with a Code.
func (a *Auth) Callback(ctx context.Context, r *http.Request) (SignIn, error) {
	answer, err := a.readCallback(r)
	if err != nil {
		return SignIn{}, err
	}
	p := a.provider.Load()
	if p == nil {
		return SignIn{}, errPending
	}
	in, err := a.signIn(ctx, p, answer)
	if err != nil {
		in = SignIn{ReturnTo: "/", Code: codeOf(err), Cause: err}
	} else {
		a.dropSession(ctx, r)
	}
	in.Cookies = append(in.Cookies, a.loginCookie("", 0))
	if a.cfg.Hooks.SignIn != nil {
		a.cfg.Hooks.SignIn(cmp.Or(in.Code, "ok"))
	}
	return in, nil
}

// An answer is what the issuer put into the callback's query.
type answer struct {
	state, code, issuer, fault string
}

// readCallback reads the query and holds its state to the browser's login cookie.
func (a *Auth) readCallback(r *http.Request) (answer, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrCallback, err)
	}
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(query[name]) > 1 {
			return answer{}, fmt.Errorf("%w: several %s parameters", ErrCallback, name)
		}
	}
	in := answer{query.Get("state"), query.Get("code"), query.Get("iss"), query.Get("error")}
	if in.state == "" || !slices.ContainsFunc(r.CookiesNamed(a.loginCookieName()), func(c *http.Cookie) bool {
		return subtle.ConstantTimeCompare([]byte(c.Value), []byte(in.state)) == 1
	}) {
		return answer{}, ErrCallback
	}
	return in, nil
}

func (a *Auth) signIn(ctx context.Context, p *provider, in answer) (SignIn, error) {
	login, err := a.takeLogin(ctx, in)
	if err != nil {
		return SignIn{}, err
	}
	if err := a.checkAnswer(p, in); err != nil {
		return SignIn{}, err
	}
	token, raw, err := a.exchange(ctx, p, in.code, login)
	if err != nil {
		return SignIn{}, err
	}
	cookie, err := a.startSession(ctx, token, raw, login)
	if err != nil {
		return SignIn{}, err
	}
	return SignIn{
		ReturnTo: LocalPath(login.ReturnTo), Cookies: []*http.Cookie{cookie}, Charge: openCharge(in.state, login.Charge),
	}, nil
}

// takeLogin finds what Login kept and deletes it, whatever the issuer's answer was: one answer a sign-in.
func (a *Auth) takeLogin(ctx context.Context, in answer) (store.Login, error) {
	login, err := a.store.TakeLogin(ctx, hashOf(in.state))
	if errors.Is(err, store.ErrNotFound) {
		return store.Login{}, failed(CodeExpired, "find the sign-in: it expired or was answered before", err)
	}
	if err != nil {
		return store.Login{}, failed(CodeUnavailable, "find the sign-in", err)
	}
	return login, nil
}

// checkAnswer holds the answer to the issuer that was asked (RFC 9207), then reads the issuer's error.
func (a *Auth) checkAnswer(p *provider, in answer) error {
	switch {
	case in.issuer != a.cfg.Issuer && (in.issuer != "" || p.namesItself):
		return failed(CodeInvalid, "check the callback's iss", fmt.Errorf("it is %q", in.issuer))
	case in.fault == "access_denied":
		return failed(CodeDenied, "sign in", errors.New("the issuer says access_denied"))
	case in.fault != "":
		return failed(CodeRefused, "sign in", fmt.Errorf("the issuer says %q", in.fault))
	case in.code == "":
		return failed(CodeInvalid, "sign in", errors.New("the issuer sent neither code nor error"))
	}
	return nil
}

// exchange changes the code for tokens and checks the ID token, which it gives back with its raw form.
func (a *Auth) exchange(ctx context.Context, p *provider, code string, login store.Login) (*oidc.IDToken, string, error) {
	tokens, err := p.oauth.Exchange(oidc.ClientContext(ctx, a.client), code, oauth2.VerifierOption(login.Verifier))
	if err != nil {
		return nil, "", failed(exchangeCode(err), "change the code for tokens", err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := verify(ctx, p.idTokens.Verify, raw)
	if err != nil {
		return nil, "", failed(verifyCode(err), "verify the ID token", err)
	}
	if err := a.checkIDToken(token, tokens.AccessToken, login.Nonce); err != nil {
		return nil, "", failed(CodeInvalid, "check the ID token", err)
	}
	return token, raw, nil
}

// checkIDToken checks what go-oidc leaves to its caller.
func (a *Auth) checkIDToken(token *oidc.IDToken, accessToken, nonce string) error {
	var c claims
	if err := token.Claims(&c); err != nil {
		return fmt.Errorf("read claims: %w", err)
	}
	switch azp := c.text("azp"); {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		return errors.New("the nonce is not the one that was sent")
	case c.has("azp") && azp != a.cfg.ClientID, len(token.Audience) > 1 && azp != a.cfg.ClientID:
		return errors.New("the token was issued to another client")
	case c.has("events"):
		return errors.New("a logout token is not an ID token")
	case token.IssuedAt.After(a.cfg.Now().Add(leeway)):
		return errors.New("the token was issued in the future")
	case token.AccessTokenHash != "":
		return token.VerifyAccessToken(accessToken)
	}
	return nil
}

func (a *Auth) startSession(ctx context.Context, token *oidc.IDToken, raw string, login store.Login) (*http.Cookie, error) {
	var c claims
	if err := token.Claims(&c); err != nil {
		return nil, failed(CodeInvalid, "read claims", err)
	}
	identity, err := a.identity(token, c)
	if err != nil {
		return nil, failed(CodeInvalid, "read who signed in", err)
	}
	member, err := a.store.EnsureUser(ctx, identity)
	if err != nil {
		return nil, failed(CodeUnavailable, "make the user", err)
	}
	secret := randomToken()
	_, err = a.store.CreateSession(ctx, store.NewSession{
		TokenHash: hashOf(secret), UserID: member.UserID,
		Roles: c.list(a.cfg.RolesClaim), RolesAt: a.cfg.Now(),
		SID: c.text("sid"), IDToken: raw, BeganAt: login.CreatedAt,
		IdleFor: a.cfg.SessionIdle, MaxFor: a.cfg.SessionMax,
	})
	if errors.Is(err, store.ErrConflict) {
		return nil, failed(CodeExpired, "make the session: signed out everywhere meanwhile", err)
	}
	if err != nil {
		return nil, failed(CodeUnavailable, "make the session", err)
	}
	return a.sessionCookie(secret, a.cfg.SessionMax), nil
}

// dropSession deletes the session that the browser had before this sign-in. That it fails is logged and no more: the
// browser no longer has the old token, and the row ends by itself.
func (a *Auth) dropSession(ctx context.Context, r *http.Request) {
	old := a.sessionCredential(r)
	if old.Kind != Session {
		return
	}
	session, err := a.lookUpSession(ctx, tokenHash(old.token))
	if errors.Is(err, ErrInvalid) {
		return
	}
	if err == nil {
		err = a.store.DeleteSession(ctx, session.ID)
	}
	if err != nil {
		a.cfg.Log.WarnContext(ctx, "session from before the sign-in not deleted", "error", err)
	}
}

// A signInError is a failed sign-in with its code.
type signInError struct {
	code string
	err  error
}

func (e *signInError) Error() string { return e.err.Error() }
func (e *signInError) Unwrap() error { return e.err }

func failed(code, doing string, err error) error {
	return &signInError{code, fmt.Errorf("%s: %w", doing, err)}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*signInError](err); ok {
		return e.code
	}
	return CodeUnavailable
}

// exchangeCode tells an issuer that said no from one that could not be reached or failed itself.
func exchangeCode(err error) string {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && e.Response != nil && e.Response.StatusCode < http.StatusInternalServerError {
		return CodeRefused
	}
	return CodeUnavailable
}

func verifyCode(err error) string {
	if errors.Is(err, ErrUnavailable) {
		return CodeUnavailable
	}
	return CodeInvalid
}

// tokenHash is how session tokens and states are kept. They are random, so a plain hash tells nothing of them.
func tokenHash(token string) [32]byte { return sha256.Sum256([]byte(token)) }

func hashOf(token string) []byte {
	sum := tokenHash(token)
	return sum[:]
}
