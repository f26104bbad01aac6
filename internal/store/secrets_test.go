package store_test

import (
	"bytes"
	"testing"

	"example.com/gatehouse/internal/store/storetest"
)

func TestSecret(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	secrets, errs := together(8, func(int) ([]byte, error) { return s.Secret(t.Context(), "keys", 32) })
	for i, secret := range secrets {
		if errs[i] != nil || len(secret) != 32 || !bytes.Equal(secret, secrets[0]) {
			t.Fatalf("secret is %x (%v) for one and %x for another", secret, errs[i], secrets[0])
		}
	}
	other := must(s.Secret(t.Context(), "cookies", 32))(t)
	if bytes.Equal(other, secrets[0]) || bytes.Equal(other, make([]byte, 32)) {
		t.Errorf("the secret of another name is %x", other)
	}
	if _, err := s.Secret(t.Context(), "keys", 16); err == nil {
		t.Error("a secret of 32 bytes was given out as one of 16")
	}
}
