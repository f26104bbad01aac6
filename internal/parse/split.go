package parse

import (
	"regexp"
	"strings"
)

// bullet is what can stand before an item: a dash, star, dot or number, and perhaps a check box.
const bullet = `^(?:[-*+•‣◦·–—]|\(?\d{1,3}[.)])(?:[ \t]+|$)(?:\[[ xX]?\][ \t]+)?|^\[[ xX]?\][ \t]+`

// A piece is the part of the text that is one task: bytes [start, end) without its bullet, and the notes with it.
type piece struct {
	start, end int
	notes      []string
	listed     bool // it has a bullet or number, or is indented
	heading    bool // it ends in a colon and a list follows: no task of its own
	indent     int  // columns before it
}

// A splitter finds the pieces of a text while it goes through the lines.
type splitter struct {
	text   string
	item   *regexp.Regexp
	pieces []piece
}

// split finds the pieces. Each line is a piece, or several with semicolons between them; a line that is indented
// deeper than the piece above it belongs to its notes, and so does what follows " -- ". Sentences stay whole.
func split(text string, item *regexp.Regexp) []piece {
	s := splitter{text: text, item: item}
	for start := 0; start <= len(text); {
		line, _, _ := strings.Cut(text[start:], "\n")
		if strings.TrimSpace(line) != "" {
			s.addLine(start, start+len(line))
		}
		start += len(line) + 1
	}
	return s.pieces
}

// addLine adds the line [start, end) to the notes of the last piece or as new pieces.
func (s *splitter) addLine(start, end int) {
	content := strings.TrimLeft(s.text[start:end], " \t")
	indent := columns(s.text[start : end-len(content)])
	mark := s.item.FindString(content)
	switch last := s.last(); {
	case last == nil:
	case s.endsInColon(*last):
		last.heading = mark != "" || indent > last.indent
	case indent > last.indent:
		last.notes = append(last.notes, strings.TrimRight(content, " \t"))
		return
	}
	s.addPieces(end-len(content)+len(mark), end, piece{listed: mark != "" || indent > 0, indent: indent})
}

// addPieces adds the tasks in [start, end), which are like the given piece. Semicolons within notes part nothing.
func (s *splitter) addPieces(start, end int, like piece) {
	tasks, notes, noted := strings.Cut(s.text[start:end], " -- ")
	for tasks != "" {
		task := tasks[:nextSemicolon(tasks)]
		p := like
		p.start, p.end = start, start+len(task)
		s.pieces = append(s.pieces, p)
		rest := min(len(task)+1, len(tasks))
		start, tasks = start+rest, tasks[rest:]
	}
	if last := s.last(); noted && last != nil {
		last.notes = append(last.notes, strings.TrimSpace(notes))
	}
}

func (s *splitter) last() *piece {
	if len(s.pieces) == 0 {
		return nil
	}
	return &s.pieces[len(s.pieces)-1]
}

// endsInColon reports whether p can be the heading of a list.
func (s *splitter) endsInColon(p piece) bool {
	return len(p.notes) == 0 && strings.HasSuffix(strings.TrimRight(s.text[p.start:p.end], " \t"), ":")
}

// nextSemicolon is where the first task of s ends: at a semicolon before a blank, so not inside an address or a smiley.
func nextSemicolon(s string) int {
	for i := range len(s) {
		if s[i] == ';' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\t') {
			return i
		}
	}
	return len(s)
}

// columns is the width of an indentation; a tab is as wide as four spaces.
func columns(indent string) int {
	return len(indent) + 3*strings.Count(indent, "\t")
}
