//nolint:thelper // These are tests: a failure is to point into them.
package ratelimittest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// testKeys spends a limit of 1 for each of many hostile keys: each is a counter of its own.
func testKeys(t *testing.T, b *bench) {
	l := limitOf(b.algorithms[0], 1, time.Hour)
	run := newKey("").ID // Keeps this run's keys apart from others'.
	for i, parts := range hostileKeys(run) {
		k := ratelimit.Key{Budget: parts[0], Group: "suite", ID: parts[1]}
		if v := b.one(t, k, l, 1); !v.OK {
			t.Errorf("key %d was spent before: %q", i, shorten(parts))
		}
		if v := b.one(t, k, l, 1); v.OK {
			t.Errorf("key %d was forgotten: %q", i, shorten(parts))
		}
	}
}

func hostileKeys(run string) [][2]string {
	long := strings.Repeat("x", 64<<10)
	return [][2]string{
		{"c", run + "a:b"},
		{"b:c", run + "a"},
		{"b", run + "a:c"},
		{"c" + run, "a:b"},
		{"", run + "ca:b"},
		{"k", run},
		{"k", run + " "},
		{"k", run + "\x00"},
		{"k", run + "\r\n"},
		{"k", run + "\r"},
		{"k", run + "\n"},
		{"k", run + "*"},
		{"k", run + "?"},
		{"k", run + "{}"},
		{"k", run + "{a}b"},
		{"k", run + "{b}a"},
		{"k", run + "}{"},
		{"k", run + "\xff"},
		{"k", run + "\xff\xfe"},
		{"k", run + "\ufffd"},
		{"k", run + "é"},
		{"k", run + "e\u0301"},
		{"k", run + long},
		{"k", run + long + "x"},
		{"k", run + "A"},
		{"k", run + "a"},
		{"k", run + `'; DROP TABLE x; --`},
	}
}

func shorten(parts [2]string) string {
	s := fmt.Sprintf("%q %q", parts[0], parts[1])
	return s[:min(len(s), 80)]
}
