package memory

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"

	"example.com/gatehouse/internal/ratelimit"
)

// A hasher maps keys to 64 bits under a secret, so that nobody can choose keys that collide. At a million keys two of
// them share a hash, and so a counter, with a chance of 1 in 36 million.
type hasher struct {
	seed maphash.Seed
	mix  [3]uint64
}

func newHasher() hasher {
	return hasher{seed: maphash.MakeSeed(), mix: [3]uint64{rand.Uint64() | 1, rand.Uint64() | 1, rand.Uint64() | 1}}
}

// hash covers the three parts one by one, so that no two keys read the same when run together. It is never 0.
func (h *hasher) hash(k *ratelimit.Key) uint64 {
	x := fold(maphash.String(h.seed, k.ID), h.mix[0])
	if k.Group != k.ID {
		x = fold(x^maphash.String(h.seed, k.Group), h.mix[1])
	}
	return fold(x^maphash.String(h.seed, k.Budget), h.mix[2]) | 1
}

// fold multiplies to 128 bits and folds them: every bit of x reaches every bit of the result.
func fold(x, secret uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, secret)
	return hi ^ lo
}
