package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
)

// sealCharge encrypts what a sign-in was charged, which names the caller's address, under its state. The database has
// only the state's hash, so that a copy of it tells nobody's address.
func sealCharge(state string, charge []byte) ([]byte, error) {
	if len(charge) == 0 {
		return nil, nil
	}
	aead, err := chargeCipher(state)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, make([]byte, aead.NonceSize()), charge, nil), nil //nolint:gosec // See chargeCipher: no key is used twice.
}

// openCharge is the other half. What cannot be opened is no charge: it costs its owner one unit for a minute.
func openCharge(state string, sealed []byte) []byte {
	if len(sealed) == 0 {
		return nil
	}
	aead, err := chargeCipher(state)
	if err != nil {
		return nil
	}
	charge, err := aead.Open(nil, make([]byte, aead.NonceSize()), sealed, nil)
	if err != nil {
		return nil
	}
	return charge
}

// chargeCipher has a key of its own for each state, which is random and encrypts once: so its nonce may be constant.
func chargeCipher(state string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte("charge " + state))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return aead, nil
}
