//go:build !race

package memory_test

const flood = 5_000_000
