package auth

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// check verifies a token up to the database, in a bubble, and waits until go-oidc's fetch in the background is over:
// the next check would share its result otherwise.
func check(t *testing.T, a *Auth, raw string) error {
	t.Helper()
	_, err := a.checkAccessToken(t.Context(), a.provider.Load(), raw)
	synctest.Wait()
	return err
}

// forge makes a token with a key that is not the issuer's.
func forge(t *testing.T, id string) string {
	t.Helper()
	key := newTestKey(t, id)
	return signWith(t, jose.ES256, &key, "at+jwt", goodClaims())
}

func TestSprayCostsFewKeyFetches(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"unknown", "first"} {
		t.Run("key id "+id, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { spray(t, id) })
		})
	}
}

// spray sends 600 bad tokens within a minute: a burst of 5 fetches, then one each 30 s.
func spray(t *testing.T, id string) {
	t.Helper()
	i, c := newIssuer(t), newClock()
	var fetches, spared atomic.Int64
	cfg := goodConfig(i, c.Now)
	cfg.Hooks = Hooks{KeyFetch: func() { fetches.Add(1) }, KeyFetchSpared: func() { spared.Add(1) }}
	a := newAuth(t, cfg)
	bad := forge(t, id)
	for range 600 {
		if err := check(t, a, bad); !errors.Is(err, ErrInvalid) {
			t.Fatalf("got %v, want ErrInvalid", err)
		}
		c.Advance(100 * time.Millisecond)
	}
	if n := i.fetched(); n < 5 || n > 7 || fetches.Load() != int64(n) || spared.Load() != int64(600-n) {
		t.Errorf("600 bad tokens: %d fetches, hooks say %d and %d spared", n, fetches.Load(), spared.Load())
	}
	if err := check(t, a, i.sign(t, "at+jwt", goodClaims())); err != nil {
		t.Errorf("a good token after the spray: %v", err)
	}
}

// TestRotationDuringSpray: a new key is picked up within the gate's interval, and the old one goes on working.
func TestRotationDuringSpray(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, c := newIssuer(t), newClock()
		a := newAuth(t, goodConfig(i, c.Now))
		old, bad := i.sign(t, "at+jwt", goodClaims()), forge(t, "forged")
		for range 10 {
			_ = check(t, a, bad)
		}
		next := newTestKey(t, "second")
		i.set(func(i *issuer) { i.keys = append(i.keys, next) })
		fresh := i.sign(t, "at+jwt", goodClaims())
		if err := check(t, a, fresh); !errors.Is(err, ErrInvalid) {
			t.Fatalf("with the gate shut: %v, want ErrInvalid", err)
		}
		c.Advance(keyInterval)
		if err := check(t, a, fresh); err != nil {
			t.Errorf("the new key after the interval: %v", err)
		}
		if err := check(t, a, old); err != nil {
			t.Errorf("the old key: %v", err)
		}
	})
}

func TestKeysThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	faults := map[string]func(*issuer){
		"down":      func(i *issuer) { i.down = true },
		"failing":   func(i *issuer) { i.failing = true },
		"empty set": func(i *issuer) { i.keys = nil },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { keysMissing(t, fault) })
		})
	}
}

func keysMissing(t *testing.T, fault func(*issuer)) {
	t.Helper()
	i, c := newIssuer(t), newClock()
	a := newAuth(t, goodConfig(i, c.Now))
	good, keys := i.sign(t, "at+jwt", goodClaims()), i.keys
	i.set(fault)
	for range 20 {
		if err := check(t, a, good); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
			t.Fatalf("got %v, want ErrUnavailable alone", err)
		}
	}
	if n := i.fetched(); n != keyBurst {
		t.Errorf("%d fetches, want %d", n, keyBurst)
	}
	i.set(func(i *issuer) { i.down, i.failing, i.keys = false, false, keys })
	c.Advance(keyRetry)
	if err := check(t, a, good); err != nil {
		t.Errorf("a second after the issuer is back: %v", err)
	}
}

// longToken is good for a day.
func longToken(t *testing.T, i *issuer) string {
	t.Helper()
	claims := goodClaims()
	claims["exp"] = start().Add(24 * time.Hour).Unix()
	return i.sign(t, "at+jwt", claims)
}

// TestOutageAfterKeysWereRead: known keys go on, and bad tokens are still told to be bad.
func TestOutageAfterKeysWereRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, c := newIssuer(t), newClock()
		a := newAuth(t, goodConfig(i, c.Now))
		good := longToken(t, i)
		if err := check(t, a, good); err != nil {
			t.Fatal(err)
		}
		i.set(func(i *issuer) { i.down = true })
		c.Advance(2 * keyMaxAge)
		if err := check(t, a, good); err != nil {
			t.Errorf("a good token during the outage: %v", err)
		}
		if err := check(t, a, tampered(t, i)); !errors.Is(err, ErrInvalid) {
			t.Errorf("a bad token during the outage: %v, want ErrInvalid", err)
		}
	})
}

// TestWithdrawnKeyEnds: a key that the issuer no longer lists is not trusted for longer than keyMaxAge.
func TestWithdrawnKeyEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, c := newIssuer(t), newClock()
		a := newAuth(t, goodConfig(i, c.Now))
		leaked := longToken(t, i)
		if err := check(t, a, leaked); err != nil {
			t.Fatal(err)
		}
		replacement := newTestKey(t, "second")
		i.set(func(i *issuer) { i.keys = []jose.JSONWebKey{replacement} })
		c.Advance(keyMaxAge + time.Second)
		if err := check(t, a, leaked); !errors.Is(err, ErrInvalid) {
			t.Errorf("got %v, want ErrInvalid", err)
		}
	})
}

func TestIssuerAnswersAreBounded(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.metadata = map[string]any{"filler": strings.Repeat("x", maxIssuerBody)}
	a, err := New(goodConfig(i, newClock().Now), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.discoverOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v, want an error of the body's size", err)
	}
}
