package postgres

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"example.com/gatehouse/internal/ratelimit"
)

// keySize is the bytes of hash in a key: enough that no two counters ever share one.
const keySize = 16

// A keyring turns the names of counters into keys of the database: short, of one length, and telling nothing of what
// they stand for to whoever lacks the secret.
type keyring struct{ secret []byte }

// key is the key of a counter. The algorithm is a part of its identity: a budget that changes it begins afresh, and
// processes with the old and the new one do not misread each other's values.
func (k keyring) key(key *ratelimit.Key, algorithm ratelimit.Algorithm) []byte {
	name := make([]byte, 0, 1+2*binary.MaxVarintLen64+len(key.Budget)+len(key.Group)+len(key.ID))
	name = append(name, byte(algorithm))
	name = appendField(name, key.Budget)
	name = appendField(name, key.Group)
	name = append(name, key.ID...)
	h := hmac.New(sha256.New, k.secret)
	h.Write(name)
	return h.Sum(nil)[:keySize]
}

// appendField puts the length first, so that no two lists of fields look alike.
func appendField(b []byte, field string) []byte {
	b = binary.AppendUvarint(b, uint64(len(field)))
	return append(b, field...)
}
