package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"example.com/gatehouse/internal/store"
)

// leeway is how far the issuer's clock may differ from this server's.
const leeway = 30 * time.Second

// asymmetric are the signature algorithms that are accepted. The symmetric ones must never be: they would take the
// issuer's public key for a shared secret.
func asymmetric() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}
}

// An accessToken is what a verified access token says.
type accessToken struct {
	id, sid         string
	identity        store.Identity
	roles           []string
	issued, expires time.Time
}

// checkAccessToken verifies an access token. go-oidc checks signature, issuer, audience and exp; everything that tells
// an access token for this API from the issuer's other tokens is checked here.
func (a *Auth) checkAccessToken(ctx context.Context, p *provider, raw string) (accessToken, error) {
	if err := a.checkHeader(raw); err != nil {
		return accessToken{}, err
	}
	token, err := verify(ctx, p.accessTokens.Verify, raw)
	if err != nil {
		return accessToken{}, err
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return accessToken{}, invalid("read claims: %w", err)
	}
	if err := a.checkClaims(c); err != nil {
		return accessToken{}, err
	}
	return a.accessToken(token, c)
}

func (a *Auth) accessToken(token *oidc.IDToken, c claims) (accessToken, error) {
	identity, err := a.identity(token, c)
	if err != nil {
		return accessToken{}, err
	}
	return accessToken{
		id: c.text("jti"), sid: c.text("sid"), identity: identity, roles: c.list(a.cfg.RolesClaim),
		issued: token.IssuedAt, expires: token.Expiry,
	}, nil
}

// checkHeader looks at the JOSE header before any key is needed, so that an ID token costs no look-up of keys.
func (a *Auth) checkHeader(raw string) error {
	h, err := parseHeader(raw)
	if err != nil {
		return err
	}
	if !slices.Contains(asymmetric(), h.Algorithm) {
		return invalid("signature algorithm %q is not accepted", h.Algorithm)
	}
	if !slices.ContainsFunc(a.cfg.TokenTypes, h.isType) {
		return invalid("token of type %q is not an access token", h.Type)
	}
	return nil
}

// checkClaims refuses the issuer's other tokens, tokens for other clients, and times that cannot be.
func (a *Auth) checkClaims(c claims) error {
	switch latest := a.cfg.Now().Add(leeway); {
	case c.has("nonce") || c.has("at_hash"):
		return invalid("an ID token is not an access token")
	case c.has("events"):
		return invalid("a logout token is not an access token")
	case slices.Contains([]string{"ID", "Refresh", "Offline", "Logout"}, c.text("typ")):
		return invalid("a %s token is not an access token", c.text("typ"))
	case c.text("jti") == "":
		return invalid("the token has no jti")
	case !c.has("iat"):
		return invalid("the token has no iat")
	case c.time("iat").After(latest):
		return invalid("the token was issued in the future")
	case c.time("iat").Add(store.TokenLife).Before(a.cfg.Now().Add(-leeway)):
		return invalid("the token was issued more than %v ago", store.TokenLife)
	case c.has("nbf") && c.time("nbf").After(latest):
		return invalid("the token is not valid yet")
	}
	return a.checkClient(c)
}

// checkClient holds the token to the allowed clients. Issuers name the client in client_id (RFC 9068) or azp.
func (a *Auth) checkClient(c claims) error {
	named := 0
	for _, claim := range []string{"client_id", "azp"} {
		if !c.has(claim) {
			continue
		}
		named++
		if !slices.Contains(a.cfg.Clients, c.text(claim)) {
			return invalid("the token is for another client")
		}
	}
	if named == 0 {
		return invalid("the token names no client")
	}
	return nil
}

// verify runs one of go-oidc's checks and keeps apart what it reports alike: a token that is no good, and keys that could
// not be fetched.
func verify[T any](ctx context.Context, check func(context.Context, string) (T, error), raw string) (T, error) {
	var missing outage
	var none T
	token, err := check(context.WithValue(ctx, outageKey{}, &missing), raw)
	switch {
	case missing.err != nil:
		return none, unavailable("fetch the issuer's keys", missing.err)
	case err != nil:
		return none, invalid("verify token: %w", err)
	}
	return token, nil
}

// A header is the part of a JOSE header that is looked at.
type header struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
}

func parseHeader(raw string) (header, error) {
	first, _, _ := strings.Cut(raw, ".")
	data, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return header{}, invalid("decode token header: %w", err)
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return header{}, invalid("decode token header: %w", errors.New("not a JSON object"))
	}
	return h, nil
}

// isType compares media types as RFC 7515 has them: any case, "application/" optional.
func (h header) isType(typ string) bool {
	return strings.TrimPrefix(strings.ToLower(h.Type), "application/") == strings.TrimPrefix(strings.ToLower(typ), "application/")
}
