package devidp

import (
	"net/url"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"example.com/gatehouse/internal/store"
)

// key is a signing key in name alone.
func key(id string, age time.Duration) issuerKey {
	return issuerKey{JSONWebKey: jose.JSONWebKey{KeyID: id}, made: time.Now().Add(-age)}
}

// TestWhichKeySigns: a new key signs once every replica has had the time to read it.
func TestWhichKeySigns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys []issuerKey
		want string
	}{
		"the first of all, at once":   {[]issuerKey{key("first", 0)}, "first"},
		"one that rests":              {[]issuerKey{key("new", time.Minute), key("old", time.Hour)}, "old"},
		"one that has rested":         {[]issuerKey{key("new", keyRests+time.Second), key("old", time.Hour)}, "new"},
		"all of them new":             {[]issuerKey{key("new", 0), key("old", time.Second)}, "old"},
		"several that have not ended": {[]issuerKey{key("3", 0), key("2", time.Hour), key("1", 2*time.Hour)}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ring := keyring{now: time.Now, keys: test.keys, since: time.Now()}
			if got, err := ring.signing(t.Context()); err != nil || got.KeyID != test.want {
				t.Errorf("%v signs (%v), want %s", got, err, test.want)
			}
			if set, err := ring.public(t.Context()); err != nil || len(set.Keys) != len(test.keys) {
				t.Errorf("%d keys are published (%v), want all %d", len(set.Keys), err, len(test.keys))
			}
		})
	}
}

// TestOldKeyStillVerifies: a token that the key before signed is good as a hint, and at userinfo, after a rotation.
func TestOldKeyStillVerifies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.signIn(t, b.config("web", testCallback, "openid"), "alice")
	second, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	rules := store.IDPKeyRules{RotateAfter: -time.Hour, KeepFor: keyStays, Generate: func() ([]byte, error) { return second, nil }}
	if _, err := b.provider.store.IDPKeys(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	b.provider.keys.since = time.Time{}
	b.provider.keys.now = func() time.Time { return time.Now().Add(keyRests) }
	if keys, err := b.provider.keys.current(t.Context()); err != nil || len(keys) != 2 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	if _, err := b.provider.readOwn(t.Context(), w.tokens.AccessToken, "at+jwt"); err != nil {
		t.Errorf("the old key's token: %v", err)
	}
	hint, _ := w.tokens.Extra("id_token").(string)
	back := url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {testPublic + "/"}}
	if status, _, body := b.post(t, "/logout", back); status != 303 {
		t.Errorf("the old key's hint: %d %s", status, body)
	}
}
