package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// An Issuer is a foreign OIDC issuer that signs a token for anybody, where a test needs more people than are seeded.
type Issuer struct {
	URL string
	// KeyFetches counts requests for the key set.
	KeyFetches atomic.Int64

	t   testing.TB
	key jose.JSONWebKey
}

// StartIssuer starts an issuer that ends with the test.
func StartIssuer(t testing.TB) *Issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk := jose.JSONWebKey{Key: key, KeyID: "k1", Algorithm: string(jose.ES256), Use: "sig"}
	i := &Issuer{t: t, key: jwk}
	server := httptest.NewServer(i.routes())
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

func (i *Issuer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.write(w, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.KeyFetches.Add(1)
		i.write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
	})
	return mux
}

func (i *Issuer) write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		i.t.Errorf("write the issuer's answer: %v", err)
	}
}

// Env is the settings that make a server use this issuer.
func (i *Issuer) Env() Env {
	return Env{"OIDC_ISSUER": i.URL, "OIDC_CLIENT_SECRET": "of-the-test", "OIDC_ORG_CLAIM": "org_id"}
}

// Token returns an access token for a subject of an organisation with these roles, good for an hour. Each has its own jti.
func (i *Issuer) Token(subject, organisation string, roles ...string) string {
	i.t.Helper()
	return i.Sign("at+jwt", i.Claims(subject, organisation, roles...))
}

// Claims are those of an access token that is accepted.
func (i *Issuer) Claims(subject, organisation string, roles ...string) map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": i.URL, "sub": subject, "aud": "api", "client_id": "mobile", "jti": rand.Text(), "org_id": organisation,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "name": subject, "email": subject + "@example.com",
		"roles": append([]string{}, roles...),
	}
}

// LogoutToken returns a back-channel logout token for a subject.
func (i *Issuer) LogoutToken(subject string) string {
	i.t.Helper()
	now := time.Now()
	return i.Sign("logout+jwt", map[string]any{
		"iss": i.URL, "sub": subject, "aud": "web", "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	})
}

// PublicKey is the key that verifies the issuer's tokens, as PKIX bytes.
func (i *Issuer) PublicKey() []byte {
	i.t.Helper()
	der, err := x509.MarshalPKIXPublicKey(i.key.Public().Key)
	if err != nil {
		i.t.Fatal(err)
	}
	return der
}

// Sign makes a token of that type.
func (i *Issuer) Sign(typ string, claims map[string]any) string {
	i.t.Helper()
	options := (&jose.SignerOptions{}).WithType(jose.ContentType(typ))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, options)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}
