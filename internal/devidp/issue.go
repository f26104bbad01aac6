package devidp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
)

// tokenFor is the life of access and ID tokens.
const tokenFor = time.Hour

// A tokenResponse is the token endpoint's answer.
type tokenResponse struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	Scope        string `json:"scope"`
	IDToken      string `json:"id_token,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
}

// issue makes the tokens of a grant: an access token, an ID token if openid was asked for, and a refresh token if
// offline_access was.
func (p *Provider) issue(ctx context.Context, g grant, family uuid.UUID) (*tokenResponse, error) {
	person, ok := personByID(g.Person)
	if !ok {
		return nil, errGrant
	}
	out := &tokenResponse{TokenType: "Bearer", ExpiresIn: int(tokenFor / time.Second), Scope: g.Scope}
	var err error
	if out.AccessToken, err = p.accessToken(ctx, g, person, family); err != nil {
		return nil, err
	}
	granted := strings.Fields(g.Scope)
	if slices.Contains(granted, "openid") {
		if out.IDToken, err = p.idToken(ctx, g, person, family, out.AccessToken); err != nil {
			return nil, err
		}
	}
	if slices.Contains(granted, "offline_access") {
		out.RefreshToken, err = p.refreshToken(ctx, g, family)
	}
	return out, err
}

// accessToken is for the API (RFC 9068).
func (p *Provider) accessToken(ctx context.Context, g grant, person Person, family uuid.UUID) (string, error) {
	id := uuid.NewString()
	if err := p.putGrant(ctx, accessKind, id, family, g, tokenFor); err != nil {
		return "", err
	}
	claims := p.claims(g, person, family)
	claims["aud"], claims["client_id"] = p.cfg.Audience, g.Client
	claims["scope"], claims["jti"] = g.Scope, id
	return p.sign(ctx, "at+jwt", claims)
}

// idToken is for the client: it tells who signed in, and is bound to the request by nonce and to the access token by at_hash.
func (p *Provider) idToken(ctx context.Context, g grant, person Person, family uuid.UUID, accessToken string) (string, error) {
	claims := p.claims(g, person, family)
	claims["aud"], claims["azp"] = g.Client, g.Client
	claims["at_hash"] = atHash(accessToken)
	if g.Nonce != "" {
		claims["nonce"] = g.Nonce
	}
	return p.sign(ctx, "JWT", claims)
}

func (p *Provider) refreshToken(ctx context.Context, g grant, family uuid.UUID) (string, error) {
	g.Redirect, g.Challenge, g.Nonce = "", "", ""
	return p.putSecret(ctx, refreshKind, family, g, refreshFor)
}

// claims are those that both kinds of token have. The session id is the family's, so that a logout can end it.
func (p *Provider) claims(g grant, person Person, family uuid.UUID) map[string]any {
	now := p.cfg.Now()
	claims := map[string]any{
		"iss": p.cfg.Issuer, "iat": now.Unix(), "exp": now.Add(tokenFor).Unix(),
		"auth_time": g.AuthTime, "sid": family.String(),
	}
	maps.Copy(claims, profile(person))
	return claims
}

// profile is what the issuer says of a person. It says all of it whatever the scope: the people are made up.
func profile(person Person) map[string]any {
	claims := map[string]any{
		"sub": person.ID, "name": person.Name, "email": person.Email, "email_verified": true,
		"roles": append([]string{}, person.Roles...),
	}
	if person.OrgID != "" {
		claims["org_id"], claims["org_name"] = person.OrgID, person.OrgName
	}
	return claims
}

func (p *Provider) sign(ctx context.Context, typ string, claims map[string]any) (string, error) {
	key, err := p.keys.signing(ctx)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: signingAlgorithm, Key: key},
		(&jose.SignerOptions{}).WithType(jose.ContentType(typ)),
	)
	if err != nil {
		return "", fmt.Errorf("make signer: %w", err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode claims: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed.CompactSerialize()
}

// atHash is the left half of the access token's hash (OpenID Connect Core section 3.1.3.6).
func atHash(accessToken string) string {
	sum := sha256.Sum256([]byte(accessToken))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}
