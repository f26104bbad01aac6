package devidp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// ownClaims are the claims of a token of this issuer that it reads itself.
type ownClaims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	Expires  int64    `json:"exp"`
	Session  string   `json:"sid"`
	ID       string   `json:"jti"`
}

// An audience is one name or several.
type audience []string

// UnmarshalJSON takes a string or an array of strings.
func (a *audience) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// serveUserinfo tells the bearer of an access token who it is about.
func (p *Provider) serveUserinfo(w http.ResponseWriter, r *http.Request) {
	scheme, raw, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		raw = ""
	}
	claims, err := p.readOwn(r.Context(), raw, "at+jwt")
	if err == nil {
		_, _, err = p.store.TakeIDPGrant(r.Context(), accessKind, hashOf(claims.ID))
	}
	person, known := personByID(claims.Subject)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		p.unavailable(w, r, err)
	case err != nil || !known || !p.cfg.Now().Before(time.Unix(claims.Expires, 0)):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeError(w, http.StatusUnauthorized, "invalid_token", "the access token is missing, expired, revoked or not valid")
	default:
		writeJSON(w, http.StatusOK, profile(person))
	}
}

// readOwn verifies a token of this issuer by type and signature. Its expiry is the caller's to judge.
func (p *Provider) readOwn(ctx context.Context, raw, typ string) (ownClaims, error) {
	signed, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{signingAlgorithm})
	if err != nil {
		return ownClaims{}, err
	}
	if signed.Signatures[0].Header.ExtraHeaders[jose.HeaderType] != typ {
		return ownClaims{}, errors.New("wrong type of token")
	}
	key, err := p.keys.verifying(ctx, signed.Signatures[0].Header.KeyID)
	if err != nil {
		return ownClaims{}, err
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return ownClaims{}, err
	}
	var claims ownClaims
	err = json.Unmarshal(payload, &claims)
	if err == nil && claims.Issuer != p.cfg.Issuer {
		err = errors.New("wrong issuer")
	}
	return claims, err
}

// serveLogout ends what the ID token's session may still refresh, and sends the browser back where its client is
// registered for (OpenID Connect RP-Initiated Logout). Without a valid hint nobody is sent anywhere.
func (p *Provider) serveLogout(w http.ResponseWriter, r *http.Request) {
	values, err := form(r)
	if err != nil {
		p.writeFaultPage(w, err.Error())
		return
	}
	claims, err := p.readOwn(r.Context(), values.Get("id_token_hint"), "JWT")
	if err != nil {
		p.writeSignedOutPage(w)
		return
	}
	if family, err := uuid.Parse(claims.Session); err == nil {
		if err := p.store.RevokeIDPFamily(r.Context(), family); err != nil {
			p.unavailable(w, r, err)
			return
		}
	}
	p.tellClients(r.Context(), claims)
	p.leave(w, claims, values)
}

func (p *Provider) leave(w http.ResponseWriter, claims ownClaims, values url.Values) {
	target := values.Get("post_logout_redirect_uri")
	if target == "" {
		p.writeSignedOutPage(w)
		return
	}
	if !p.mayLeaveTo(claims.Audience, values.Get("client_id"), target) {
		p.writeFaultPage(w, "The post_logout_redirect_uri is not one of those registered for this client.")
		return
	}
	if state := values.Get("state"); state != "" {
		target = withQuery(target, url.Values{"state": {state}})
	}
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}

// mayLeaveTo says whether target is registered for the client that the ID token was for. A client_id must agree with it.
func (p *Provider) mayLeaveTo(clients []string, named, target string) bool {
	return slices.ContainsFunc(clients, func(id string) bool {
		client, ok := p.client(id)
		return ok && (named == "" || named == id) && slices.Contains(client.PostLogout, target)
	})
}
