//go:build race

package memory_test

// flood is smaller under the race detector, which makes it some ten times slower.
const flood = 100_000
