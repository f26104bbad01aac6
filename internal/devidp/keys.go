package devidp

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"example.com/gatehouse/internal/store"
)

// signingAlgorithm is the one that every OpenID client must be able to verify.
const signingAlgorithm = jose.RS256

// keyMaxAge is how long a key is used before the database is asked whether there is a newer one.
const keyMaxAge = time.Minute

// A keyring holds the issuer's signing key, which all replicas share through the database.
type keyring struct {
	store *store.Store
	now   func() time.Time

	mu    sync.Mutex
	key   *jose.JSONWebKey
	since time.Time
}

// current is the newest signing key. While the database cannot be asked, a key that was read before goes on.
func (k *keyring) current(ctx context.Context) (*jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil && k.now().Sub(k.since) < keyMaxAge {
		return k.key, nil
	}
	key, err := k.read(ctx)
	if err != nil && k.key == nil {
		return nil, err
	}
	if err == nil {
		k.key, k.since = key, k.now()
	}
	return k.key, nil
}

func (k *keyring) read(ctx context.Context) (*jose.JSONWebKey, error) {
	data, err := k.store.IDPKey(ctx, NewKey)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	key := new(jose.JSONWebKey)
	if err := json.Unmarshal(data, key); err != nil {
		return nil, fmt.Errorf("decode signing key: %w", err)
	}
	return key, nil
}

// NewKey makes a signing key, in the form in which the database keeps it: a private JWK, named by its thumbprint. It
// takes a good part of a second, so tests make one and put it into each of their databases (store.Store.IDPKey).
func NewKey() ([]byte, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	key := jose.JSONWebKey{Key: private, Algorithm: string(signingAlgorithm), Use: "sig"}
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("name signing key: %w", err)
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	return json.Marshal(key)
}
