package devidp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// refreshFor is how long a refresh token may lie unused.
const refreshFor = 30 * 24 * time.Hour

// errGrant is told the client as invalid_grant: the code or refresh token is not good, and no more is said.
var errGrant = errors.New("the code or refresh token is not valid, is used, or is for another request")

// serveToken changes a code or a refresh token for tokens.
func (p *Provider) serveToken(w http.ResponseWriter, r *http.Request) {
	values, err := form(r)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	client, err := p.authenticateClient(r, values)
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
		writeError(w, http.StatusUnauthorized, "invalid_client", err.Error())
		return
	}
	tokens, err := p.grantTokens(r.Context(), client, values)
	switch {
	case errors.Is(err, errGrantType):
		writeError(w, http.StatusBadRequest, "unsupported_grant_type", err.Error())
	case errors.Is(err, errGrant):
		writeError(w, http.StatusBadRequest, "invalid_grant", err.Error())
	case err != nil:
		p.unavailable(w, r, err)
	default:
		writeJSON(w, http.StatusOK, tokens)
	}
}

var errGrantType = errors.New("grant_type must be authorization_code or refresh_token")

func (p *Provider) grantTokens(ctx context.Context, c Client, values url.Values) (*tokenResponse, error) {
	switch values.Get("grant_type") {
	case "authorization_code":
		return p.changeCode(ctx, c, values)
	case "refresh_token":
		return p.refresh(ctx, c, values)
	}
	return nil, errGrantType
}

func (p *Provider) changeCode(ctx context.Context, c Client, values url.Values) (*tokenResponse, error) {
	g, family, err := p.takeGrant(ctx, codeKind, values.Get("code"))
	if err != nil {
		return nil, err
	}
	if g.Client != c.ID || g.Redirect != values.Get("redirect_uri") || !verifies(g.Challenge, values.Get("code_verifier")) {
		return nil, errGrant
	}
	return p.issue(ctx, g, family)
}

// refresh changes a refresh token for new tokens and a new refresh token. A narrower scope holds from then on.
func (p *Provider) refresh(ctx context.Context, c Client, values url.Values) (*tokenResponse, error) {
	g, family, err := p.takeGrant(ctx, refreshKind, values.Get("refresh_token"))
	if err != nil {
		return nil, err
	}
	if g.Client != c.ID {
		return nil, errGrant
	}
	if asked := strings.Fields(values.Get("scope")); len(asked) > 0 {
		had := strings.Fields(g.Scope)
		g.Scope = strings.Join(slices.DeleteFunc(asked, func(s string) bool { return !slices.Contains(had, s) }), " ")
	}
	return p.issue(ctx, g, family)
}

// takeGrant uses a code or refresh token up. One that was used before may be in a thief's hands, or its replacement
// is: everything that descends from it is revoked (RFC 6749 section 4.1.2, RFC 9700 section 4.14).
func (p *Provider) takeGrant(ctx context.Context, kind, secret string) (grant, uuid.UUID, error) {
	row, used, err := p.store.TakeIDPGrant(ctx, kind, hashOf(secret))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return grant{}, uuid.UUID{}, errGrant
	case err != nil:
		return grant{}, uuid.UUID{}, fmt.Errorf("take %s: %w", kind, err)
	case used:
		return grant{}, uuid.UUID{}, p.revoke(ctx, row.Family)
	}
	var g grant
	if err := json.Unmarshal(row.Payload, &g); err != nil {
		return grant{}, uuid.UUID{}, fmt.Errorf("decode %s: %w", kind, err)
	}
	return g, row.Family, nil
}

// revoke ends a family: its codes, its refresh tokens, and its access tokens as far as this issuer is asked (userinfo); its result is errGrant if that worked.
func (p *Provider) revoke(ctx context.Context, family uuid.UUID) error {
	if err := p.store.RevokeIDPFamily(ctx, family); err != nil {
		return fmt.Errorf("revoke tokens: %w", err)
	}
	return errGrant
}

// verifies checks PKCE S256. The length is RFC 7636's.
func verifies(challenge, verifier string) bool {
	if len(verifier) < 43 || len(verifier) > 128 {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	actual := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(actual), []byte(challenge)) == 1
}
