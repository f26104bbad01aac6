package devidp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// A relyingParty is a client's address for logouts: it keeps what it is sent.
type relyingParty struct {
	status int
	sent   []*http.Request
	forms  []url.Values
}

// RoundTrip implements http.RoundTripper.
func (p *relyingParty) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	p.sent, p.forms = append(p.sent, r), append(p.forms, form)
	if p.status == 0 {
		return nil, errors.New("nobody listens")
	}
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(p.status)
	return recorder.Result(), nil
}

// TestBackchannelLogout: the client of a session that ends is told so, in a form that go-oidc accepts.
func TestBackchannelLogout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	party := &relyingParty{status: http.StatusOK}
	b.provider.outgoing = newClient(party)
	w := b.signIn(t, b.config("web", testCallback, "openid"), "alice")
	hint, _ := w.tokens.Extra("id_token").(string)
	if status, _, body := b.post(t, "/logout", url.Values{"id_token_hint": {hint}}); status != http.StatusOK {
		t.Fatalf("logout answers %d: %s", status, body)
	}
	if len(party.sent) != 1 || party.sent[0].Method != http.MethodPost || party.sent[0].URL.String() != testPublic+"/api/v1/auth/backchannel" ||
		party.sent[0].Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Fatalf("sent %d requests", len(party.sent))
	}
	token, err := b.oidc.Verifier(&oidc.Config{ClientID: "web"}).VerifyLogout(b.ctx, party.forms[0].Get("logout_token"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.oidc.Verifier(&oidc.Config{ClientID: "web"}).Verify(b.ctx, hint)
	if err != nil {
		t.Fatal(err)
	}
	var session struct {
		SID string `json:"sid"`
	}
	if err := id.Claims(&session); err != nil {
		t.Fatal(err)
	}
	if token.Subject != "alice" || token.SessionID != session.SID || token.SessionID == "" || !within(time.Until(token.Expiry), logoutTokenFor) {
		t.Errorf("the logout token says %+v", token)
	}
}

// A client that cannot be told keeps nobody from signing out.
func TestBackchannelLogoutThatFails(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"refused": 400, "unreachable": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.provider.outgoing = newClient(&relyingParty{status: status})
			w := b.signIn(t, b.config("web", testCallback, "openid"), "alice")
			hint, _ := w.tokens.Extra("id_token").(string)
			back := url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {testPublic + "/"}}
			if code, header, _ := b.post(t, "/logout", back); code != http.StatusSeeOther || header.Get("Location") != testPublic+"/" {
				t.Errorf("logout answers %d to %q", code, header.Get("Location"))
			}
		})
	}
}

// A client without such an address, and a logout without a valid hint, send nothing.
func TestBackchannelLogoutOfNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	party := &relyingParty{status: http.StatusOK}
	b.provider.outgoing = newClient(party)
	w := b.signIn(t, b.config("cli", cliRedirect, "openid"), "alice")
	hint, _ := w.tokens.Extra("id_token").(string)
	b.post(t, "/logout", url.Values{"id_token_hint": {hint}})
	b.post(t, "/logout", url.Values{"id_token_hint": {strings.ToUpper(hint)}})
	b.post(t, "/logout", nil)
	if len(party.sent) != 0 {
		t.Errorf("%d requests sent", len(party.sent))
	}
}
