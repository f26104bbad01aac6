//go:build race

package ratelimit_test

// raceDetector makes pools forget at random, so allocations cannot be counted.
const raceDetector = true
