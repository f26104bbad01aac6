package main

import (
	"errors"
	"fmt"
	"strings"
)

// The marks of the example in files that stay. A line ends in one, in a comment of whatever syntax the file has: the lines
// from one with beginMark to one with endMark go, both included, and so does a line with lineMark.
const (
	beginMark = "example:" + "begin"
	endMark   = "example:" + "end"
	lineMark  = "example:" + "line"
)

var (
	errNested   = errors.New("begins before the one above has ended")
	errUnopened = errors.New("ends without a beginning")
	errUnclosed = errors.New("the last one has no end")
)

// strip returns the text without what is marked, and whether anything was. Of blank lines that meet where something was
// one is left.
func strip(text string) (string, bool, error) {
	var kept []string
	inside, cut := false, false
	for i, line := range strings.Split(text, "\n") {
		begins, ends := bears(line, beginMark), bears(line, endMark)
		switch {
		case begins && inside:
			return "", false, fmt.Errorf("line %d: %w", i+1, errNested)
		case ends && !inside:
			return "", false, fmt.Errorf("line %d: %w", i+1, errUnopened)
		}
		if inside || begins || bears(line, lineMark) {
			inside, cut = (inside || begins) && !ends, true
			continue
		}
		if cut && line == "" && (len(kept) == 0 || kept[len(kept)-1] == "") {
			continue
		}
		kept, cut = append(kept, line), false
	}
	if inside {
		return "", false, errUnclosed
	}
	stripped := strings.Join(kept, "\n")
	return stripped, stripped != text, nil
}

// bears looks past what ends a comment.
func bears(line, mark string) bool {
	line = strings.TrimRight(line, " \t\r}")
	line = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(line, "-->"), "*/"), " ")
	return strings.HasSuffix(line, mark)
}
