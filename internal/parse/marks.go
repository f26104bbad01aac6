package parse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are the #tags and the !priority of a line, and where they stand.
type marks struct {
	tags     []string
	priority string
	phrases  []phrase
}

// readMarks finds the marks of a line. A mark stands after a blank, a bracket or another mark. What is beyond the
// limits, such as an eleventh tag or a second priority, stays in the title.
func readMarks(line string) marks {
	m := marks{tags: []string{}, priority: PriorityNone}
	free := true
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		length := 0
		if free {
			length = m.read(line[i:], i)
		}
		free = length > 0 || unicode.IsSpace(r) || strings.ContainsRune("([{,", r)
		i += max(length, size)
	}
	return m
}

// read takes in the mark at the beginning of s, which is at the byte offset at. It returns the mark's length, or 0.
func (m *marks) read(s string, at int) int {
	switch s[0] {
	case '#':
		return m.readTag(s, at)
	case '!':
		return m.readPriority(s, at)
	}
	return 0
}

// readTag reads a tag: letters, digits, '_' and '-', with at least one letter, since "#42" is a number.
func (m *marks) readTag(s string, at int) int {
	word := strings.TrimRight(leading(s[1:], isTagRune), "-")
	tag := strings.ToLower(word)
	if !validTag(tag) || joins(s[1+len(word):]) {
		return 0
	}
	if !slices.Contains(m.tags, tag) {
		if len(m.tags) == MaxTags {
			return 0
		}
		m.tags = append(m.tags, tag)
	}
	m.phrases = append(m.phrases, phrase{KindTag, at, at + 1 + len(word)})
	return 1 + len(word)
}

// readPriority reads !high, !medium, !low, !1 to !3, !! (medium) and !!! (high).
func (m *marks) readPriority(s string, at int) int {
	word := "!" + leading(s[1:], func(r rune) bool { return r == '!' || isTagRune(r) })
	priority := priorityOf(strings.ToLower(word))
	if priority == "" || m.priority != PriorityNone || joins(s[len(word):]) {
		return 0
	}
	m.priority = priority
	m.phrases = append(m.phrases, phrase{KindPriority, at, at + len(word)})
	return len(word)
}

// priorityOf is what a mark means; "" for nothing.
func priorityOf(mark string) string {
	switch mark {
	case "!high", "!1", "!!!":
		return PriorityHigh
	case "!medium", "!med", "!2", "!!":
		return PriorityMedium
	case "!low", "!3":
		return PriorityLow
	}
	return ""
}

// validTag reports whether a tag in lower case is one that a task can have.
func validTag(tag string) bool {
	if units(tag) > MaxTagLength || !strings.ContainsFunc(tag, unicode.IsLetter) {
		return false
	}
	return !strings.ContainsFunc(tag, func(r rune) bool { return !isTagRune(r) })
}

func isTagRune(r rune) bool { return r == '-' || isWord(r) }

// joins reports whether s goes on as if it belonged to the word before it, as in "#a/b" or "#a@b".
func joins(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsRune("/@=&+\\'’", r)
}

// leading is the longest beginning of s whose runes are all accepted.
func leading(s string, accept func(rune) bool) string {
	if end := strings.IndexFunc(s, func(r rune) bool { return !accept(r) }); end >= 0 {
		return s[:end]
	}
	return s
}
