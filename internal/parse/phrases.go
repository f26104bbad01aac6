package parse

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The parts of the patterns. The boundaries of the whole phrase are not in them: standsFree looks at its neighbours,
// since \b knows only ASCII.
const (
	dueWord   = `(?:due\s+(?:(?:on|by|at|before)\s+)?|(?:on|by|before|until|till|for|from|at|starting)\s+(?:on\s+|at\s+)?)`
	onWord    = `(?:due\s+(?:(?:on|by|before)\s+)?|(?:on|by|before|until|till)\s+)`
	atWord    = `(?:due\s+(?:(?:at|by|before)\s+)?|(?:at|by|before|until|till|from|around)\s+|@\s*)`
	weekdays  = `(monday|mon|tuesday|tues|tue|wednesday|wed|thursday|thurs|thur|thu|friday|fri|saturday|sat|sunday|sun)`
	months    = `(january|jan|february|feb|march|mar|april|apr|may|june|jun|july|jul|august|aug|september|sept|sep|october|oct|november|nov|december|dec)\.?`
	dayNumber = `(\d{1,2})(?:st|nd|rd|th)?`
	count     = `(\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a\s+couple\s+of|a\s+few)`
	partOfDay = `(?:\s+(morning|afternoon|evening|night)\b)?`
	meridiem  = `([ap])(?:m|\.\s?m\.?)`
	year      = `(?:,?\s+(\d{4})\b)?`
	onDay     = `(?:` + weekdaysUncaught + `,?\s+(?:the\s+)?)?`

	weekdaysUncaught = `(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
)

// newGrammar compiles the phrases, most exact first.
func newGrammar() *grammar {
	date := func(pattern string, read func([]string, *reading) (moment, bool)) rule {
		return rule{kind: KindDate, pattern: compile(pattern), read: read, fits: notRecurring}
	}
	clock := func(pattern string, read func([]string, *reading) (moment, bool)) rule {
		return rule{kind: KindTime, pattern: compile(pattern), read: read}
	}
	return &grammar{rules: []rule{
		date(dueWord+`?`+onDay+`(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:t(\d{2}):(\d{2})(?::\d{2})?(z|[-+]\d{2}:\d{2})?)?`, readISO),
		date(dueWord+`?`+onDay+`(\d{1,2})([/.])(\d{1,2})[/.](\d{4})`, readNumeric),
		date(onWord+`(\d{1,2})(/)(\d{1,2})`, readNumeric),
		date(onWord+`(\d{1,2})(\.)(\d{1,2})\.`, readNumeric),
		date(dueWord+`?`+onDay+`(?:the\s+)?`+dayNumber+`\s+(?:of\s+)?`+months+year, readDayMonth),
		{KindDate, compile(dueWord + `?` + onDay + months + `\s+(?:the\s+)?` + dayNumber + year), readMonthDay, notMayHappen},
		{KindDate, compile(onWord + `(?:` + weekdaysUncaught + `,?\s+)?the\s+(\d{1,2})(?:st|nd|rd|th)`), readDayOfMonth, notFloor},
		date(`(?:in|within)\s+`+count+`\s+(day|week|month|year)s?(?:['’]?\s+time\b)?`, readIn),
		date(count+`\s+(day|week|month|year)s?\s+from\s+(?:now|today)`, readIn),
		date(dueWord+`?(?:the\s+)?day\s+after\s+tomorrow`+partOfDay, readAfterTomorrow),
		date(dueWord+`?(today|tonight|tomorrow|tmrw?)`+partOfDay, readCasual),
		date(dueWord+`?this\s+(morning|afternoon|evening)`, readThisPart),
		date(dueWord+`?`+weekdays+`\s+next\s+week`+partOfDay, readWeekdayNextWeek),
		{KindDate, compile(dueWord + `?(this\s+|next\s+|coming\s+)?` + weekdays + partOfDay), readWeekday, weekdayFits},
		date(dueWord+`?(?:(this|next|the)\s+)weekend`, readWeekend),
		date(dueWord+`?next\s+(week|month|year)`, readNext),
		date(dueWord+`?(?:the\s+)?end\s+of\s+(?:the\s+|this\s+)?(day|week|month|year)`, readEnd),
		clock(`(?:in|within)\s+half\s+an\s+hour`, readHalfHour),
		clock(`(?:in|within)\s+`+count+`\s*(hour|hr|h|minute|min)s?(?:\s+(?:and\s+)?(\d{1,2})\s*min(?:ute)?s?\b)?`, readInHours),
		clock(`(?:from\s+)?(\d{1,2})(?:[:.](\d{2}))?(?:\s*`+meridiem+`)?\s*(?:-|–|to|until)\s*(\d{1,2})(?:[:.]\d{2})?\s*`+meridiem, readRange),
		clock(atWord+`?(\d{1,2})(?:[:.](\d{2}))?\s*`+meridiem, readMeridiem),
		clock(atWord+`?(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*(?:-|–|to|until)\s*\d{1,2}:\d{2})?(?:\s*h(?:rs)?\b)?`, readDial),
		clock(atWord+`?(\d{1,2})h(\d{2})`, readDial),
		clock(atWord+`(\d{1,2})\.(\d{2})`, readDial),
		clock(atWord+`?(half|quarter)\s+(past|to)\s+`+count, readQuarter),
		clock(atWord+`?(\d{1,2})()\s*o['’]?clock`, readDial),
		{KindTime, compile(`(?:due\s+)?(?:at\s+|@\s*)(\d{1,2})()`), readDial, hourFits},
		clock(atWord+`?(noon|midday|midnight)`, readNoon),
		clock(`in\s+the\s+(morning|afternoon|evening)`, readPart),
	}}
}

func compile(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:` + pattern + `)`) }

// onDate is a moment on a day, with the usual hour of a part of it.
func onDate(d time.Time, part string) moment { return moment{day: d, part: hourOf(part)} }

// hourOf is when a part of the day usually is.
func hourOf(part string) time.Duration {
	switch part {
	case "morning":
		return 9 * time.Hour
	case "afternoon":
		return 15 * time.Hour
	case "evening":
		return 19 * time.Hour
	case "night":
		return 20 * time.Hour
	}
	return 0
}

// readISO reads year, month, day and perhaps hour, minute, offset: a date and time with an offset is a moment by itself.
func readISO(w []string, _ *reading) (moment, bool) {
	d, ok := dateOf(w[0], w[1], w[2])
	if !ok || w[3] == "" {
		return onDate(d, ""), ok
	}
	m, ok := dial(w[3], w[4])
	m.day, m.loose = d, false
	if !ok || w[5] == "" {
		return m, ok
	}
	offset, err := time.Parse("Z07:00", strings.ToUpper(w[5]))
	if err != nil {
		return moment{}, false
	}
	_, seconds := offset.Zone()
	return moment{instant: d.Add(m.clock - time.Duration(seconds)*time.Second)}, true
}

// readNumeric reads day, separator, month and perhaps year. The day comes first, except where only the other order
// is a date, and only with slashes.
func readNumeric(w []string, r *reading) (moment, bool) {
	year := ""
	if len(w) > 3 {
		year = w[3]
	}
	m, ok := r.dayIn(year, w[2], w[0])
	if !ok && w[1] == "/" {
		m, ok = r.dayIn(year, w[0], w[2])
	}
	return m, ok
}

// readDayMonth reads day, month and perhaps year.
func readDayMonth(w []string, r *reading) (moment, bool) {
	return r.dayIn(w[2], monthNumber(w[1]), w[0])
}

// readMonthDay reads month, day and perhaps year.
func readMonthDay(w []string, r *reading) (moment, bool) {
	return r.dayIn(w[2], monthNumber(w[0]), w[1])
}

// dayIn is a date by its numbers. Without a year it is the next such day, today included; 29 February waits for a
// leap year.
func (r *reading) dayIn(year, month, dayOfMonth string) (moment, bool) {
	if year != "" {
		d, ok := dateOf(year, month, dayOfMonth)
		return onDate(d, ""), ok
	}
	const longestWait = 8 // years between leap years around a century
	for y := r.wall.Year(); y <= r.wall.Year()+longestWait; y++ {
		d, ok := dateOf(strconv.Itoa(y), month, dayOfMonth)
		if ok && !d.Before(day(r.wall)) {
			return onDate(d, ""), true
		}
	}
	return moment{}, false
}

// dateOf is a date by its numbers; false if there is none, or none that a living person would plan.
func dateOf(year, month, dayOfMonth string) (time.Time, bool) {
	y, m, d := number(year), number(month), number(dayOfMonth)
	t, ok := date(y, time.Month(m), d)
	return t, ok && y >= firstYear
}

// readDayOfMonth reads "the 12th": the next one, today included.
func readDayOfMonth(w []string, r *reading) (moment, bool) {
	first := r.wall.AddDate(0, 0, 1-r.wall.Day())
	for range 12 {
		d, ok := date(first.Year(), first.Month(), number(w[0]))
		if ok && !d.Before(day(r.wall)) {
			return onDate(d, ""), true
		}
		first = first.AddDate(0, 1, 0)
	}
	return moment{}, false
}

// readIn reads "in 3 weeks".
func readIn(w []string, r *reading) (moment, bool) {
	n, today := number(w[0]), day(r.wall)
	switch w[1] {
	case "day":
		return onDate(today.AddDate(0, 0, n), ""), true
	case "week":
		return onDate(today.AddDate(0, 0, 7*n), ""), true
	case "month":
		return onDate(addMonths(today, n), ""), true
	}
	return onDate(addMonths(today, 12*n), ""), true
}

func readAfterTomorrow(w []string, r *reading) (moment, bool) {
	return onDate(day(r.wall).AddDate(0, 0, 2), w[0]), true
}

func readCasual(w []string, r *reading) (moment, bool) {
	today := day(r.wall)
	switch w[0] {
	case "today":
		return onDate(today, w[1]), true
	case "tonight":
		return onDate(today, "night"), true
	}
	return onDate(today.AddDate(0, 0, 1), w[1]), true
}

func readThisPart(w []string, r *reading) (moment, bool) {
	return onDate(day(r.wall), w[0]), true
}

// readWeekday reads a weekday as the first one after today; "this friday" may be today. "Next friday" is that first
// one, too: people differ about it, and a deadline understood too early does less harm than one too late.
func readWeekday(w []string, r *reading) (moment, bool) {
	from := day(r.wall).AddDate(0, 0, 1)
	if strings.HasPrefix(w[0], "this") {
		from = day(r.wall)
	}
	return onDate(onOrAfter(from, weekdayOf(w[1])), w[2]), true
}

func readWeekdayNextWeek(w []string, r *reading) (moment, bool) {
	return onDate(onOrAfter(nextMonday(r.wall), weekdayOf(w[0])), w[1]), true
}

// readWeekend reads a weekend as its Saturday, or today if that is in it.
func readWeekend(w []string, r *reading) (moment, bool) {
	today := day(r.wall)
	switch {
	case w[0] == "next":
		return onDate(onOrAfter(nextMonday(r.wall), time.Saturday), ""), true
	case today.Weekday() == time.Sunday:
		return onDate(today, ""), true
	}
	return onDate(onOrAfter(today, time.Saturday), ""), true
}

// readNext reads "next week" as its Monday, "next month" and "next year" as their first day.
func readNext(w []string, r *reading) (moment, bool) {
	switch w[0] {
	case "week":
		return onDate(nextMonday(r.wall), ""), true
	case "month":
		return onDate(addMonths(firstOfMonth(r.wall), 1), ""), true
	}
	d, _ := date(r.wall.Year()+1, time.January, 1)
	return onDate(d, ""), true
}

// readEnd reads "end of the month" as its last day; a week ends on Friday, as people who say so mean their work.
func readEnd(w []string, r *reading) (moment, bool) {
	switch w[0] {
	case "day":
		return onDate(day(r.wall), ""), true
	case "week":
		return onDate(onOrAfter(day(r.wall), time.Friday), ""), true
	case "month":
		return onDate(addMonths(firstOfMonth(r.wall), 1).AddDate(0, 0, -1), ""), true
	}
	d, _ := date(r.wall.Year(), time.December, 31)
	return onDate(d, ""), true
}

func readHalfHour(_ []string, r *reading) (moment, bool) {
	return moment{instant: r.now.Add(30 * time.Minute)}, true
}

// readInHours reads "in 2 hours and 5 minutes": real time, whatever the clocks do meanwhile.
func readInHours(w []string, r *reading) (moment, bool) {
	unit := time.Minute
	if strings.HasPrefix(w[1], "h") {
		unit = time.Hour
	}
	wait := time.Duration(number(w[0]))*unit + time.Duration(number(w[2]))*time.Minute
	return moment{instant: r.now.Add(wait)}, true
}

// readRange reads "5 to 6pm" as its beginning, which is in the same half of the day unless it would then come after
// the end.
func readRange(w []string, _ *reading) (moment, bool) {
	if _, ok := clockOf(w[3], "", w[4]); !ok {
		return moment{}, false
	}
	half := w[2]
	if half == "" {
		half = halfOfStart(number(w[0])%12, number(w[3])%12, w[4])
	}
	return clockOf(w[0], w[1], half)
}

// halfOfStart is the half of the day in which a range begins that ends at the hour end (0 to 11) of half.
func halfOfStart(start, end int, half string) string {
	switch {
	case start <= end:
		return half
	case half == "p":
		return "a"
	}
	return "p"
}

func readMeridiem(w []string, _ *reading) (moment, bool) { return clockOf(w[0], w[1], w[2]) }

// clockOf is a time with "am" ("a") or "pm" ("p"): 12am is midnight, 12pm noon.
func clockOf(hour, minute, half string) (moment, bool) {
	h, m := number(hour), number(minute)
	if h < 1 || h > 12 || m > 59 {
		return moment{}, false
	}
	h %= 12
	if half == "p" {
		h += 12
	}
	return moment{clock: hoursAndMinutes(h, m), timed: true}, true
}

func readDial(w []string, _ *reading) (moment, bool) { return dial(w[0], w[1]) }

// dial is a time of the 24-hour clock. Hours from 1 to 12 without a leading zero may be of a 12-hour dial.
func dial(hour, minute string) (moment, bool) {
	h, m := number(hour), number(minute)
	if h > 24 || m > 59 || h == 24 && m > 0 {
		return moment{}, false
	}
	loose := h >= 1 && h <= 12 && hour[0] != '0'
	return moment{clock: hoursAndMinutes(h, m), timed: true, loose: loose}, true
}

// readQuarter reads "half past five" and "quarter to six".
func readQuarter(w []string, _ *reading) (moment, bool) {
	h, minutes := number(w[2]), 30
	if h < 1 || h > 12 {
		return moment{}, false
	}
	if w[0] == "quarter" {
		minutes = 15
	}
	if w[1] == "to" {
		minutes = -minutes
	}
	return moment{clock: hoursAndMinutes(h, minutes), timed: true, loose: true}, w[1] == "past" || w[0] == "quarter"
}

// readNoon reads midnight as the end of the day it is said of.
func readNoon(w []string, _ *reading) (moment, bool) {
	if w[0] == "midnight" {
		return moment{clock: 24 * time.Hour, timed: true}, true
	}
	return moment{clock: 12 * time.Hour, timed: true}, true
}

func readPart(w []string, _ *reading) (moment, bool) { return moment{part: hourOf(w[0])}, true }

func hoursAndMinutes(h, m int) time.Duration {
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
}

// onOrAfter is the first such weekday from d on.
func onOrAfter(d time.Time, weekday time.Weekday) time.Time {
	return d.AddDate(0, 0, (int(weekday)-int(d.Weekday())+7)%7)
}

// nextMonday begins the next week; weeks begin on Monday, as in ISO 8601.
func nextMonday(wall time.Time) time.Time {
	return onOrAfter(day(wall).AddDate(0, 0, 1), time.Monday)
}

func firstOfMonth(wall time.Time) time.Time { return day(wall).AddDate(0, 0, 1-wall.Day()) }

// weekdayOf knows a weekday by its first three letters.
func weekdayOf(name string) time.Weekday {
	return time.Weekday(strings.Index("sunmontuewedthufrisat", name[:3]) / 3)
}

// monthNumber knows a month by its first three letters.
func monthNumber(name string) string {
	return strconv.Itoa(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", name[:3])/3 + 1)
}

// number is the value of digits or of a word; 0 for none. The patterns let no other words through.
func number(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	names := []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	for i, name := range names {
		if name == word {
			return i + 1
		}
	}
	switch {
	case word == "a", word == "an":
		return 1
	case strings.HasSuffix(word, "of"):
		return 2
	case strings.HasSuffix(word, "few"):
		return 3
	}
	return 0
}

// notRecurring refuses dates that are past ("last friday"), recur ("every friday") or are names ("Black Friday").
func notRecurring(before, _, _ string) bool {
	switch lastWord(before) {
	case "last", "past", "previous", "since", "every", "each", "black", "good", "cyber", "ash":
		return false
	}
	return true
}

// notMayHappen refuses the verb in "this may 5 times out of ten fail".
func notMayHappen(before, phrase, after string) bool {
	return notRecurring(before, phrase, after) && !strings.HasPrefix(phrase, "may ")
}

// notFloor refuses ordinals that count something else than days.
func notFloor(before, phrase, after string) bool {
	switch firstWord(after) {
	case "floor", "street", "avenue", "time", "day", "attempt", "birthday", "anniversary", "edition", "page", "line", "row":
		return false
	}
	return notRecurring(before, phrase, after)
}

// weekdayFits refuses the short names that are also words – "sun cream", "the cat sat", "newly wed" – unless
// something else shows that a day is meant.
func weekdayFits(before, phrase, after string) bool {
	if !notRecurring(before, phrase, after) {
		return false
	}
	words := strings.Fields(strings.ToLower(phrase))
	switch words[len(words)-1] {
	case "sun", "sat", "wed", "mon":
		return saysWhen(words[0]) || goesOnWithTime(after)
	}
	return true
}

// saysWhen reports whether word can stand before a weekday, but hardly before another noun.
func saysWhen(word string) bool {
	return slices.Contains([]string{"due", "on", "by", "before", "until", "till", "this", "next", "coming"}, word)
}

// goesOnWithTime reports whether a time of day seems to follow, or a colon, as after a heading.
func goesOnWithTime(after string) bool {
	next := firstWord(after)
	return strings.HasPrefix(after, ":") || next == "at" || next == "noon" || next != "" && next[0] >= '0' && next[0] <= '9'
}

// hourFits accepts a bare hour ("at 5") only where the phrase ends or goes on about when.
func hourFits(_, _, after string) bool {
	trimmed := strings.TrimLeft(after, " \t\x1f")
	if trimmed == "" || strings.ContainsRune(".,;:!?)", rune(trimmed[0])) {
		return true
	}
	switch next := firstWord(after); next {
	case "on", "in", "today", "tonight", "tomorrow", "this", "next", "sharp", "and", "for", "with":
		return true
	default:
		return isWeekday(next)
	}
}

func isWeekday(word string) bool {
	for d := range 7 {
		if strings.EqualFold(time.Weekday(d).String(), word) {
			return true
		}
	}
	return false
}

// firstWord is the first word of s in lower case.
func firstWord(s string) string {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		end = len(s)
	}
	return strings.ToLower(s[:end])
}

// lastWord is the last word of s in lower case.
func lastWord(s string) string {
	s = strings.TrimRight(s, " \t")
	notWord := func(r rune) bool { return !isWord(r) }
	if i := strings.LastIndexFunc(s, notWord); i >= 0 {
		s = strings.TrimLeftFunc(s[i:], notWord)
	}
	return strings.ToLower(s)
}
