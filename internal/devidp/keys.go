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

const (
	// keysFor is how long keys are used before the database is asked again.
	keysFor = time.Minute
	// keyRests is how long a new key is published before it signs: until every replica has read it, so that none gives out
	// a token that another's key set does not explain.
	keyRests = 2 * keysFor
	// keyRotates is the age at which a key is followed by another.
	keyRotates = 30 * 24 * time.Hour
	// keyStays is how long a key that was replaced is still published: far longer than a token lives, because an ID token
	// is also the hint of a logout, for as long as a web session lasts.
	keyStays = 15 * 24 * time.Hour
)

// A keyring holds the issuer's signing keys, which all replicas share through the database.
type keyring struct {
	store *store.Store
	now   func() time.Time

	mu    sync.Mutex
	keys  []issuerKey // Newest first.
	since time.Time
}

type issuerKey struct {
	jose.JSONWebKey

	made time.Time
}

// signing is the key that signs now: the newest that every replica knows.
func (k *keyring) signing(ctx context.Context) (*jose.JSONWebKey, error) {
	keys, err := k.current(ctx)
	if err != nil {
		return nil, err
	}
	known := k.now().Add(-keyRests)
	for i := range keys {
		if !keys[i].made.After(known) {
			return &keys[i].JSONWebKey, nil
		}
	}
	return &keys[len(keys)-1].JSONWebKey, nil // The first of all need not rest: nobody knows another.
}

// verifying is the key of that id; an error if there is none.
func (k *keyring) verifying(ctx context.Context, id string) (jose.JSONWebKey, error) {
	keys, err := k.current(ctx)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	for i := range keys {
		if keys[i].KeyID == id {
			return keys[i].Public(), nil
		}
	}
	return jose.JSONWebKey{}, fmt.Errorf("there is no key %q", id)
}

// public is the public half of all keys.
func (k *keyring) public(ctx context.Context) (jose.JSONWebKeySet, error) {
	keys, err := k.current(ctx)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	var set jose.JSONWebKeySet
	for i := range keys {
		set.Keys = append(set.Keys, keys[i].Public())
	}
	return set, nil
}

// current is all keys, at least one. While the database cannot be asked, those that were read before go on.
func (k *keyring) current(ctx context.Context) ([]issuerKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys != nil && k.now().Sub(k.since) < keysFor {
		return k.keys, nil
	}
	keys, err := k.read(ctx)
	if err != nil && k.keys == nil {
		return nil, err
	}
	if err == nil {
		k.keys, k.since = keys, k.now()
	}
	return k.keys, nil
}

func (k *keyring) read(ctx context.Context) ([]issuerKey, error) {
	rows, err := k.store.IDPKeys(ctx, KeyRules(NewKey))
	if err != nil {
		return nil, fmt.Errorf("read signing keys: %w", err)
	}
	keys := make([]issuerKey, len(rows))
	for i, row := range rows {
		keys[i].made = k.now().Add(-row.Age)
		if err := json.Unmarshal(row.Key, &keys[i].JSONWebKey); err != nil {
			return nil, fmt.Errorf("decode signing key: %w", err)
		}
	}
	return keys, nil
}

// KeyRules are how long this issuer's signing keys live. Making one takes a good part of a second, so tests make one with
// NewKey and put it into each of their databases (store.Store.IDPKeys).
func KeyRules(generate func() ([]byte, error)) store.IDPKeyRules {
	return store.IDPKeyRules{RotateAfter: keyRotates, KeepFor: keyStays, Generate: generate}
}

// NewKey makes a signing key, in the form in which the database keeps it: a private JWK, named by its thumbprint.
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
