package memory

import (
	"hash/maphash"
	"math/bits"

	"example.com/gatehouse/internal/ratelimit"
)

// A hasher maps keys to 64 bits under a secret, so that nobody can choose keys that collide. At a million keys two of
// them share a hash, and so a counter, with a chance of 1 in 36 million.
type hasher struct {
	seed maphash.Seed
	mix  [3]uint64
}

func newHasher() hasher {
	h := hasher{seed: maphash.MakeSeed()}
	for i, part := range []string{"id", "group", "budget"} {
		h.mix[i] = maphash.String(h.seed, part) | 1
	}
	return h
}

// hash covers the three parts one by one, so that no two keys read the same when run together. It is never 0.
func (h *hasher) hash(k *ratelimit.Key) uint64 {
	x := fold(maphash.String(h.seed, k.ID), h.mix[0])
	if k.Group != k.ID {
		x = fold(x^maphash.String(h.seed, k.Group), h.mix[1])
	}
	return fold(x^h.name(k.Budget), h.mix[2]) | 1
}

// name is a hash of a budget's name. Names are the table's and nobody chooses them, so short ones, which nearly all are,
// are just multiplied together: their first and last eight bytes, which overlap, hold every byte.
func (h *hasher) name(s string) uint64 {
	switch n := len(s); {
	case n > 16:
		return maphash.String(h.seed, s)
	case n >= 8:
		return fold(word(s), h.mix[0]) ^ fold(word(s[n-8:]), h.mix[1]^uint64(len(s)))
	default:
		var x uint64
		for i := range n {
			x = x<<8 | uint64(s[i])
		}
		return fold(x, h.mix[1]^uint64(len(s)))
	}
}

// word is the string's first eight bytes.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// fold multiplies to 128 bits and folds them: every bit of x reaches every bit of the result.
func fold(x, secret uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, secret)
	return hi ^ lo
}
