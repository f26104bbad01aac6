package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func keyRules(key string) store.IDPKeyRules {
	return store.IDPKeyRules{
		RotateAfter: 30 * 24 * time.Hour, KeepFor: 15 * 24 * time.Hour,
		Generate: func() ([]byte, error) { return []byte(key), nil },
	}
}

func TestIDPKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	broken := errors.New("no randomness")
	rules := keyRules("")
	rules.Generate = func() ([]byte, error) { return nil, broken }
	_, err := s.IDPKeys(t.Context(), rules)
	wantErr(t, err, broken)
	keys, errs := together(8, func(i int) ([]store.IDPKey, error) { return s.IDPKeys(t.Context(), keyRules(fmt.Sprint("key ", i))) })
	for i, got := range keys {
		if errs[i] != nil || len(got) != 1 || !bytes.Equal(got[0].Key, keys[0][0].Key) {
			t.Errorf("keys are %v (%v) for one and %v for another", got, errs[i], keys[0])
		}
	}
}

// A key is followed by another when it is old, and goes when that one has been there for long enough.
func TestIDPKeysRotate(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	conn := connect(t, url)
	keys := func(made string) (found []string) {
		t.Helper()
		for _, key := range must(s.IDPKeys(t.Context(), keyRules(made)))(t) {
			found = append(found, string(key.Key))
		}
		return found
	}
	steps := []struct {
		days int // That pass before.
		made string
		want []string
	}{
		{0, "first", []string{"first"}},
		{29, "not yet", []string{"first"}},
		{1, "second", []string{"second", "first"}},
		{30, "third", []string{"third", "second"}},
	}
	for _, step := range steps {
		if _, err := conn.Exec(t.Context(), "UPDATE idp_keys SET created_at = created_at - make_interval(days => $1)", step.days); err != nil {
			t.Fatal(err)
		}
		if got := keys(step.made); !slices.Equal(got, step.want) {
			t.Errorf("after %d more days the keys are %q, want %q", step.days, got, step.want)
		}
	}
}

func newGrant(hash string, family uuid.UUID) store.IDPGrant {
	return store.IDPGrant{Kind: "refresh", Hash: []byte(hash), Family: family, Payload: []byte(`{"person": "alice"}`)}
}

func TestTakeIDPGrant(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	want := newGrant("hash", uuid.New())
	if err := s.PutIDPGrant(t.Context(), want, time.Hour); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.PutIDPGrant(t.Context(), want, time.Hour), store.ErrConflict)
	for _, used := range []bool{false, true, true} {
		got, late, err := s.TakeIDPGrant(t.Context(), "refresh", []byte("hash"))
		if err != nil || late != used {
			t.Fatalf("used: %t (%v), want %t", late, err, used)
		}
		if !bytes.Equal(got.Payload, want.Payload) {
			t.Errorf("payload is %s, want %s", got.Payload, want.Payload)
		}
		if string(got.Hash) != "hash" || got.Kind != want.Kind || got.Family != want.Family {
			t.Errorf("grant is %+v, want %+v", got, want)
		}
	}
	for kind, hash := range map[string]string{"code": "hash", "refresh": "another"} {
		_, _, err := s.TakeIDPGrant(t.Context(), kind, []byte(hash))
		wantErr(t, err, store.ErrNotFound)
	}
}

func TestTakeIDPGrantAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	if err := s.PutIDPGrant(t.Context(), newGrant("hash", uuid.New()), time.Hour); err != nil {
		t.Fatal(err)
	}
	used, errs := together(8, func(int) (bool, error) {
		_, used, err := s.TakeIDPGrant(t.Context(), "refresh", []byte("hash"))
		return used, err
	})
	winners := 0
	for i := range used {
		if errs[i] != nil {
			t.Error(errs[i])
		}
		if !used[i] {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d callers used one grant first", winners)
	}
}

func TestRevokeIDPFamily(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	revoked, other := uuid.New(), uuid.New()
	for hash, family := range map[string]uuid.UUID{"one": revoked, "two": revoked, "three": other} {
		if err := s.PutIDPGrant(t.Context(), newGrant(hash, family), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RevokeIDPFamily(t.Context(), revoked); err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{"one", "two"} {
		_, _, err := s.TakeIDPGrant(t.Context(), "refresh", []byte(hash))
		wantErr(t, err, store.ErrNotFound)
	}
	wantErr(t, s.PutIDPGrant(t.Context(), newGrant("four", revoked), time.Hour), store.ErrConflict)
	if _, used, err := s.TakeIDPGrant(t.Context(), "refresh", []byte("three")); used || err != nil {
		t.Errorf("a grant of another family: used %t, %v", used, err)
	}
}

func TestExpiredIDPGrants(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	if err := s.PutIDPGrant(t.Context(), newGrant("old", uuid.New()), -time.Second); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.TakeIDPGrant(t.Context(), "refresh", []byte("old"))
	wantErr(t, err, store.ErrNotFound)
	if err := s.PutIDPGrant(t.Context(), newGrant("new", uuid.New()), time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM idp_grants"); n != 1 {
		t.Errorf("%d grants are kept, want the live one alone", n)
	}
}
