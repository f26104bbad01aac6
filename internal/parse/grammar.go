package parse

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/olebedev/when"
	"github.com/olebedev/when/rules"
)

// endOfDay is the time of a date without one: a due date is a deadline, so the whole day counts.
const endOfDay = 23*time.Hour + 59*time.Minute

// The years that a date can have: nothing is planned for the time before computers, and RFC 3339 writes four digits.
const firstYear, lastYear = 1970, 9999

// A grammar is the phrases that say when. They are rules for the when library, whose parser finds, orders and merges
// them; docs/parsing.md says why its own English rules are not used. Each rule counts once: the first phrase of its
// form. Exact dates come before relative ones, and of two dates or two times the later rule stays in the title.
type grammar struct {
	rules []rule
}

// A rule is one form of phrase.
type rule struct {
	kind    string
	pattern *regexp.Regexp // anchored at the beginning
	// read says what the captured words (lower case) mean; false if they mean nothing after all, such as 31 April.
	read func(words []string, r *reading) (moment, bool)
	// fits, if set, looks at the text before and after a match, which a pattern of this syntax cannot.
	fits func(before, phrase, after string) bool
}

// A moment is what a phrase says, in parts that other phrases may add to.
type moment struct {
	day     time.Time     // midnight of a day on the wall clock; zero if not said
	clock   time.Duration // since midnight, with timed
	timed   bool          // whether clock is said
	loose   bool          // clock is on a 12-hour dial and nothing says which half of the day
	part    time.Duration // where "morning", "evening" … usually are; zero if not said
	instant time.Time     // an exact moment, which needs no other part; zero if not said
}

// A phrase is where a rule was understood: bytes [start, end) of the text.
type phrase struct {
	kind       string
	start, end int
}

// overlaps reports whether p and q share a byte.
func (p phrase) overlaps(q phrase) bool { return p.start < q.end && q.start < p.end }

// A standpoint is what the words of a text are relative to.
type standpoint struct {
	now time.Time
	loc *time.Location
	day time.Time // the day of the heading above, on the wall clock; zero if there is none
}

// A reading is one text being read: what is known so far.
type reading struct {
	standpoint

	wall    time.Time // now on the wall clock
	starts  []int     // where the text's words begin, in bytes
	said    moment
	phrases []phrase
	due     *time.Time // in UTC; nil if the text does not say when
}

// read finds out when text says. The phrases are in order and do not overlap.
func (g *grammar) read(text string, from standpoint) *reading {
	r := &reading{standpoint: from, wall: wallClock(from.now, from.loc), starts: wordStarts(text)}
	// All phrases of a text speak of one moment, however far apart they stand.
	parser := when.New(&rules.Options{Distance: len(text), MatchByOrder: true})
	for _, rule := range g.rules {
		parser.Add(boundRule{rule, r})
	}
	// The base is a first of the month: the library sets the year, the month and the day one after the other, and a
	// 31st would run over into the next month on the way.
	result, err := parser.Parse(text, r.wall.AddDate(0, 0, 1-r.wall.Day()))
	if err != nil || result == nil || !r.resolve(result.Time) {
		return &reading{standpoint: from}
	}
	slices.SortFunc(r.phrases, func(a, b phrase) int { return a.start - b.start })
	return r
}

// resolve turns the library's wall clock into the moment due; false if that is beyond the calendar.
func (r *reading) resolve(wall time.Time) bool {
	due := r.said.instant
	switch {
	case !due.IsZero():
	case r.said.day.IsZero() && r.day.IsZero():
		due = r.next(wall)
	default:
		due = instants(wall, r.loc)[0]
	}
	due = due.UTC().Truncate(time.Second)
	r.due = &due
	return due.Year() >= firstYear && due.Year() <= lastYear
}

// next is the first time after now that clocks show wall's time.
func (r *reading) next(wall time.Time) time.Time {
	for _, t := range instants(wall, r.loc) {
		if t.After(r.now) {
			return t
		}
	}
	return instants(wall.Add(24*time.Hour), r.loc)[0]
}

// add takes m in if it contradicts nothing that is known.
func (r *reading) add(m moment) bool {
	known := &r.said
	clash := !known.instant.IsZero() ||
		!m.instant.IsZero() && (!known.day.IsZero() || known.timed) ||
		!m.day.IsZero() && !known.day.IsZero() ||
		m.timed && known.timed
	if clash {
		return false
	}
	if !m.day.IsZero() {
		known.day = m.day
	}
	if m.timed {
		known.clock, known.timed, known.loose = m.clock, true, m.loose
	}
	if known.part == 0 {
		known.part = m.part
	}
	known.instant = m.instant
	return true
}

// time is the time of day that the parts give together, since midnight.
func (m moment) time() time.Duration {
	switch {
	case m.timed && m.loose:
		return m.half()
	case m.timed:
		return m.clock
	case m.part != 0:
		return m.part
	}
	return endOfDay
}

// half decides between the halves of the day. Where nothing is said, hours up to six are in the afternoon: few tasks
// are due in the small hours.
func (m moment) half() time.Duration {
	const noon, lastSmall = 12 * time.Hour, 7 * time.Hour
	small := m.part == 0 && m.clock < lastSmall
	if m.clock < noon && (small || m.part >= noon) {
		return m.clock + noon
	}
	return m.clock
}

// A boundRule is a rule at work for one reading.
type boundRule struct {
	rule

	reading *reading
}

// Find returns the first match that stands free and means something, as when's parser asks for it. It tries the
// pattern at the beginning of each word and no further than the longest phrase: a search would take twenty times as long.
func (b boundRule) Find(text string) *rules.Match {
	const longestPhrase = 100 // "due on or before" and the longest date, with room for some blanks
	for _, start := range b.reading.starts {
		window := text[start:min(len(text), start+longestPhrase)]
		found := b.pattern.FindStringSubmatchIndex(window)
		if found == nil {
			continue
		}
		end := start + found[1]
		if m, ok := b.meaning(text, start, end, words(window, found)); ok {
			return b.match(text, start, end, m)
		}
	}
	return nil
}

// meaning is what the match [start, end) says.
func (b boundRule) meaning(text string, start, end int, words []string) (moment, bool) {
	if !standsFree(text, start, end) {
		return moment{}, false
	}
	if b.fits != nil && !b.fits(text[:start], text[start:end], text[end:]) {
		return moment{}, false
	}
	return b.read(words, b.reading)
}

// match tells when's parser where m is and how to apply it.
func (b boundRule) match(text string, start, end int, m moment) *rules.Match {
	apply := func(_ *rules.Match, c *rules.Context, _ *rules.Options, _ time.Time) (bool, error) {
		return b.reading.apply(phrase{b.kind, start, end}, m, c), nil
	}
	return &rules.Match{Left: start, Right: end, Text: text[start:end], Applier: apply}
}

// apply adds m to what is known and tells when's context the sum.
func (r *reading) apply(p phrase, m moment, c *rules.Context) bool {
	if slices.ContainsFunc(r.phrases, p.overlaps) || !r.add(m) {
		return false
	}
	r.phrases = append(r.phrases, p)
	d := r.dayMeant()
	year, month, dayOfMonth := d.Year(), int(d.Month()), d.Day()
	hour, minute, second := int(r.said.time()/time.Hour), int(r.said.time()%time.Hour/time.Minute), 0
	c.Year, c.Month, c.Day = &year, &month, &dayOfMonth
	c.Hour, c.Minute, c.Second = &hour, &minute, &second
	return true
}

// dayMeant is the day that is said here, else in the heading, else today.
func (r *reading) dayMeant() time.Time {
	switch {
	case !r.said.day.IsZero():
		return r.said.day
	case !r.day.IsZero():
		return r.day
	}
	return day(r.wall)
}

// words are the captures of found in text, in lower case. Upper case comes between, because patterns that ignore case
// also match letters such as the long s.
func words(text string, found []int) []string {
	var words []string
	for i := 2; i < len(found); i += 2 {
		word := ""
		if found[i] >= 0 {
			word = text[found[i]:found[i+1]]
		}
		words = append(words, strings.ToLower(strings.ToUpper(word)))
	}
	return words
}

// standsFree reports whether [start, end) is not a part of a longer word, number, address or possessive.
func standsFree(text string, start, end int) bool {
	last, size := utf8.DecodeLastRuneInString(text[:start])
	beforeLast, _ := utf8.DecodeLastRuneInString(text[:start-size])
	next, size := utf8.DecodeRuneInString(text[end:])
	afterNext, _ := utf8.DecodeRuneInString(text[end+size:])
	joined := strings.ContainsRune("-/.:'’@", next) && isWord(afterNext) ||
		strings.ContainsRune("-/.:'’", last) && isWord(beforeLast)
	return !joined && !isWord(last) && !isWord(next) && !strings.ContainsRune("/#=$€£+\\", last)
}

// wordStarts are the offsets at which a phrase can begin.
func wordStarts(text string) []int {
	starts, inWord := []int{}, false
	for i, r := range text {
		if !inWord && (r == '@' || isWord(r)) {
			starts = append(starts, i)
		}
		inWord = isWord(r)
	}
	return starts
}

// isWord reports whether r can be inside a word or number.
func isWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}
