package parse

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// cleaned makes a text safe to read and to store, rune by rune, without changing its length in UTF-16 units: a byte
// that is not UTF-8 becomes U+FFFD, every kind of blank a space, every kind of line end a newline, and other control
// characters (PostgreSQL refuses NUL) a space.
func cleaned(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text {
		b.WriteRune(cleanRune(r, text[i:]))
	}
	return b.String()
}

// cleanRune is what stands for r, the first rune of rest.
func cleanRune(r rune, rest string) rune {
	switch {
	case r == '\r' && !strings.HasPrefix(rest, "\r\n"), r == '\u2028', r == '\u2029', r == '\u0085':
		return '\n'
	case r == '\n', r == '\t':
		return r
	case unicode.IsSpace(r), unicode.IsControl(r):
		return ' '
	}
	return r
}

// units is the length of s in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

// unitsOf is the length of r in UTF-16 code units.
func unitsOf(r rune) int {
	return max(utf16.RuneLen(r), 1)
}

// prefix is the longest beginning of s that has at most limit UTF-16 units and splits no rune.
func prefix(s string, limit int) string {
	for i, r := range s {
		limit -= unitsOf(r)
		if limit < 0 {
			return s[:i]
		}
	}
	return s
}

// unitOffsets maps each byte offset of s at which a rune begins, and len(s), to its offset in UTF-16 units.
func unitOffsets(s string) []int {
	offsets := make([]int, len(s)+1)
	n := 0
	for i, r := range s {
		offsets[i] = n
		n += unitsOf(r)
	}
	offsets[len(s)] = n
	return offsets
}
