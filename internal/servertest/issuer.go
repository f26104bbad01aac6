package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

	t      testing.TB
	signer jose.Signer
	keys   jose.JSONWebKeySet
}

// StartIssuer starts an issuer that ends with the test.
func StartIssuer(t testing.TB) *Issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk := jose.JSONWebKey{Key: key, KeyID: "k1", Algorithm: string(jose.ES256), Use: "sig"}
	options := (&jose.SignerOptions{}).WithType("at+jwt")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jwk}, options)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{t: t, signer: signer, keys: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{jwk.Public()}}}
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
		i.write(w, i.keys)
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
	now := time.Now()
	claims := map[string]any{
		"iss": i.URL, "sub": subject, "aud": "api", "client_id": "mobile", "jti": rand.Text(), "org_id": organisation,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "name": subject, "email": subject + "@example.com", "roles": roles,
	}
	token, err := jwt.Signed(i.signer).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}
