package redis

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"sync"

	"example.com/gatehouse/internal/ratelimit"
)

const (
	// prefix begins every key; the number is the version of the stored format.
	prefix = "rl:1:{"
	// tagSize and keySize are the bytes of hash in a tag and in a key: tags may collide, which only puts two groups on
	// one slot; keys may not.
	tagSize = 8
	keySize = 16
	// encodedTag and encodedKey are their lengths in base64.
	encodedTag = (tagSize*8 + 5) / 6
	encodedKey = (keySize*8 + 5) / 6
)

// A keyring turns the names of counters into keys of Redis: short, of one length, and telling nothing of what they
// stand for to whoever lacks the secret. The tag between the braces alone chooses a cluster's slot; the alphabet of
// hashes has no braces.
type keyring struct {
	secret []byte
	hashes sync.Pool // Of *keyHash.
}

// A keyHash is a keyed hash that can be used again.
type keyHash struct {
	hash.Hash
	sum []byte
	buf []byte
}

func newKeyring(secret []byte) *keyring {
	return &keyring{secret: bytes.Clone(secret)}
}

// hash is one to use and put back.
func (k *keyring) hash() *keyHash {
	if h, ok := k.hashes.Get().(*keyHash); ok {
		return h
	}
	return &keyHash{Hash: hmac.New(sha256.New, k.secret)}
}

// tag is what all keys of a group have between the braces.
func (k *keyring) tag(group string) string {
	h := k.hash()
	defer k.hashes.Put(h)
	h.buf = append(h.buf[:0], 0)
	h.buf = append(h.buf, group...)
	var encoded [encodedTag]byte
	base64.RawURLEncoding.Encode(encoded[:], h.digest()[:tagSize])
	return string(encoded[:])
}

// key is the key of a counter. The algorithm is a part of its identity: a budget that changes it begins afresh, and
// processes with the old and the new one do not misread each other's values.
func (k *keyring) key(tag string, key *ratelimit.Key, algorithm ratelimit.Algorithm) string {
	h := k.hash()
	defer k.hashes.Put(h)
	h.buf = append(h.buf[:0], byte(algorithm))
	h.buf = appendField(h.buf, key.Budget)
	h.buf = appendField(h.buf, key.Group)
	h.buf = append(h.buf, key.ID...)
	var encoded [len(prefix) + encodedTag + len("}:") + encodedKey]byte
	b := append(encoded[:0], prefix...)
	b = append(b, tag...)
	b = append(b, "}:"...)
	return string(base64.RawURLEncoding.AppendEncode(b, h.digest()[:keySize]))
}

// all are the keys that a counter may have been counted under.
func (k *keyring) all(key *ratelimit.Key) []string {
	tag := k.tag(key.Group)
	keys := make([]string, 0, ratelimit.FixedWindow)
	for a := ratelimit.SlidingLog; a <= ratelimit.FixedWindow; a++ {
		keys = append(keys, k.key(tag, key, a))
	}
	return keys
}

// digest is the hash of the buffer.
func (h *keyHash) digest() []byte {
	h.Reset()
	h.Write(h.buf)
	h.sum = h.Sum(h.sum[:0])
	return h.sum
}

// appendField puts the length first, so that no two lists of fields look alike.
func appendField(b []byte, field string) []byte {
	b = binary.AppendUvarint(b, uint64(len(field)))
	return append(b, field...)
}
