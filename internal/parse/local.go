package parse

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Local understands a small English grammar of dates, times, #tags and !priorities; docs/parsing.md lists it. It does
// no I/O, never fails, and takes time in proportion to the text.
type Local struct {
	grammar *grammar
	item    *regexp.Regexp // the bullet of a list's item
}

var _ Parser = (*Local)(nil)

// NewLocal returns the local parser. It compiles the grammar, so one is enough for a process.
func NewLocal() *Local { return &Local{grammar: newGrammar(), item: regexp.MustCompile(bullet)} }

// Parse reads the drafts of req. It never returns an error.
func (l *Local) Parse(_ context.Context, req Request) (Result, error) {
	return Result{Parser: LocalParser, Drafts: l.drafts(req.settled())}, nil
}

// Bound is 0: no model is asked.
func (*Local) Bound(int64) int64 { return 0 }

// drafts are the tasks in the text. What a heading says counts for each item of its list that does not say it itself.
func (l *Local) drafts(req Request) []Draft {
	text := cleaned(req.Text)
	offsets := unitOffsets(text)
	drafts, heading := []Draft{}, finding{}
	for _, p := range split(text, l.item) {
		if !heading.covers(p) {
			heading = finding{}
		}
		found := l.read(text, p, standpoint{req.Now, req.Location, heading.day})
		found.Spans = spansOf(found.phrases, offsets)
		switch {
		case p.heading:
			heading = found
		case found.Title != "":
			drafts = append(drafts, found.under(&heading.Draft))
		}
	}
	return drafts
}

// A finding is a draft with what is still needed to place it.
type finding struct {
	Draft

	piece   piece
	phrases []phrase  // in bytes of the text
	day     time.Time // the day that is said, on the wall clock
}

// read makes a draft of one piece. Its title is empty if the piece has no word in it.
func (l *Local) read(text string, p piece, from standpoint) finding {
	line := text[p.start:p.end]
	marks := readMarks(line)
	reading := l.grammar.read(masked(line, marks.phrases), from)
	phrases := slices.Concat(reading.phrases, marks.phrases)
	slices.SortFunc(phrases, func(a, b phrase) int { return a.start - b.start })

	title, rest := titleOf(line, phrases)
	notes := notesOf(rest, strings.Join(p.notes, "\n"))
	draft := Draft{Title: title, Notes: notes, DueAt: reading.due, Priority: marks.priority, Tags: marks.tags}
	for i := range phrases {
		phrases[i].start += p.start
		phrases[i].end += p.start
	}
	return finding{draft, p, phrases, reading.said.day}
}

// covers reports whether p is in the list below the heading.
func (f finding) covers(p piece) bool {
	return f.piece.heading && p.listed && (p.indent > f.piece.indent || !f.piece.listed)
}

// under is the draft with what its heading says; an empty heading says nothing. The heading's spans go to the first
// draft that takes them over, so that no two drafts claim the same words.
func (f finding) under(heading *Draft) Draft {
	d := f.Draft
	if d.DueAt == nil {
		d.DueAt = heading.DueAt
	}
	if d.Priority == PriorityNone && heading.Priority != "" {
		d.Priority = heading.Priority
	}
	for _, tag := range heading.Tags {
		if len(d.Tags) < MaxTags && !slices.Contains(d.Tags, tag) {
			d.Tags = append(d.Tags, tag)
		}
	}
	if len(heading.Spans) > 0 {
		d.Spans = slices.Concat(heading.Spans, d.Spans)
		heading.Spans = nil
	}
	return d
}

// spansOf are the phrases as spans.
func spansOf(phrases []phrase, offsets []int) []Span {
	spans := make([]Span, len(phrases))
	for i, p := range phrases {
		spans[i] = Span{Start: offsets[p.start], End: offsets[p.end], Kind: p.kind}
	}
	return spans
}

// masked is line with the phrases made unreadable, byte for byte, so that nothing is understood twice or across them.
func masked(line string, phrases []phrase) string {
	b := []byte(line)
	for _, p := range phrases {
		for i := p.start; i < p.end; i++ {
			b[i] = maskByte
		}
	}
	return string(b)
}

// maskByte is a control character, which cleaned text does not hold.
const maskByte = '\x1f'

// notesOf joins what did not fit into the title and the notes themselves, cut to their limit.
func notesOf(rest, notes string) string {
	notes = strings.TrimSpace(rest + "\n" + strings.TrimSpace(notes))
	return strings.TrimSpace(prefix(notes, MaxNotes))
}
