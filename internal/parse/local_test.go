package parse_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"example.com/gatehouse/internal/parse"
)

// wednesday is the moment at which most of the tests read: 2 December 2026, 10:15:30, in Berlin.
func wednesday(t *testing.T) time.Time {
	t.Helper()
	return time.Date(2026, time.December, 2, 10, 15, 30, 0, zone(t, "Europe/Berlin"))
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatalf("load time zone %s: %v", name, err)
	}
	return loc
}

// local is one parser for all tests, since compiling the grammar takes longer than most of them.
var local = sync.OnceValue(parse.NewLocal)

// read parses text as the local parser does at now, in now's zone.
func read(t *testing.T, text string, now time.Time) []parse.Draft {
	t.Helper()
	result, err := local().Parse(context.Background(), parse.Request{Text: text, Location: now.Location(), Now: now})
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	if result.Parser != parse.LocalParser || result.Reached || result.Usage.Total() != 0 {
		t.Fatalf("Parse(%q) = %+v, want a free local result", text, result)
	}
	return result.Drafts
}

// shown writes a draft as "title | due | priority | tags | notes", with the due time as clocks in loc show it and
// what is empty left out at the end.
func shown(d parse.Draft, loc *time.Location) string {
	due, priority := "", ""
	if d.DueAt != nil {
		due = d.DueAt.In(loc).Format("Mon 2006-01-02 15:04")
	}
	if d.Priority != parse.PriorityNone {
		priority = d.Priority
	}
	fields := []string{d.Title, due, priority, strings.Join(d.Tags, ","), d.Notes}
	for len(fields) > 1 && fields[len(fields)-1] == "" {
		fields = fields[:len(fields)-1]
	}
	return strings.Join(fields, " | ")
}

func TestLocalReadsOneTask(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		// Days relative to now.
		{"Call Bob", "Call Bob"},
		{"Call Bob today", "Call Bob | Wed 2026-12-02 23:59"},
		{"Call Bob tomorrow", "Call Bob | Thu 2026-12-03 23:59"},
		{"tmr buy milk", "buy milk | Thu 2026-12-03 23:59"},
		{"Water the plants the day after tomorrow", "Water the plants | Fri 2026-12-04 23:59"},
		{"Call mum tonight", "Call mum | Wed 2026-12-02 20:00"},
		{"Call mum tonight at 9", "Call mum | Wed 2026-12-02 21:00"},
		{"Gym this evening", "Gym | Wed 2026-12-02 19:00"},
		{"Gym tomorrow morning", "Gym | Thu 2026-12-03 09:00"},
		{"Gym tomorrow morning at 6", "Gym | Thu 2026-12-03 06:00"},
		{"Review the budget in 3 days", "Review the budget | Sat 2026-12-05 23:59"},
		{"Renew passport in two weeks at noon", "Renew passport | Wed 2026-12-16 12:00"},
		{"Check in a couple of days' time", "Check | Fri 2026-12-04 23:59"},
		{"Renew insurance in 3 months", "Renew insurance | Tue 2027-03-02 23:59"},
		{"Plan reunion 2 years from now", "Plan reunion | Sat 2028-12-02 23:59"},
		{"Take the pizza out in 20 minutes", "Take the pizza out | Wed 2026-12-02 10:35"},
		{"Ring back in half an hour", "Ring back | Wed 2026-12-02 10:45"},
		{"Ring back in 2h", "Ring back | Wed 2026-12-02 12:15"},
		{"Check the oven in 1 hour and 5 min", "Check the oven | Wed 2026-12-02 11:20"},

		// Weekdays and weeks. Today is a Wednesday.
		{"Send slides friday", "Send slides | Fri 2026-12-04 23:59"},
		{"Send slides by next Friday 5pm", "Send slides | Fri 2026-12-04 17:00"},
		{"Send slides on Friday next week", "Send slides | Fri 2026-12-11 23:59"},
		{"Retro on wednesday", "Retro | Wed 2026-12-09 23:59"},
		{"Retro this wednesday at 16:00", "Retro | Wed 2026-12-02 16:00"},
		{"Dinner friday evening", "Dinner | Fri 2026-12-04 19:00"},
		{"Lunch with Ana sat 13:00", "Lunch with Ana | Sat 2026-12-05 13:00"},
		{"Sat: clean the house", "clean the house | Sat 2026-12-05 23:59"},
		{"Send the budget by Fri, 3pm #work/finance", "Send the budget #work/finance | Fri 2026-12-04 15:00"},
		{"Hike this weekend", "Hike | Sat 2026-12-05 23:59"},
		{"Hike next weekend", "Hike | Sat 2026-12-12 23:59"},
		{"Start the diet next week", "Start the diet | Mon 2026-12-07 23:59"},
		{"Send invoices next month", "Send invoices | Fri 2027-01-01 23:59"},
		{"Submit expenses by the end of the month", "Submit expenses | Thu 2026-12-31 23:59"},
		{"Submit timesheet by end of week", "Submit timesheet | Fri 2026-12-04 23:59"},

		// Dates by number and name.
		{"Dentist on 12 March", "Dentist | Fri 2027-03-12 23:59"},
		{"Dentist on the 12th of March at 9:30", "Dentist | Fri 2027-03-12 09:30"},
		{"Dentist March 12th, 2028 9am", "Dentist | Sun 2028-03-12 09:00"},
		{"Dentist Friday, 12 March 2027", "Dentist | Fri 2027-03-12 23:59"},
		{"Pay rent Dec 2", "Pay rent | Wed 2026-12-02 23:59"},
		{"Pay rent 1 Dec", "Pay rent | Wed 2027-12-01 23:59"},
		{"Pay rent by the 1st", "Pay rent | Fri 2027-01-01 23:59"},
		{"Leap party 29 February", "Leap party | Tue 2028-02-29 23:59"},
		{"Wrap presents 2026-12-24", "Wrap presents | Thu 2026-12-24 23:59"},
		{"Deploy 2026-12-24T17:00", "Deploy | Thu 2026-12-24 17:00"},
		{"Deploy 2026-12-24T17:00:00Z", "Deploy | Thu 2026-12-24 18:00"},
		{"Deploy 2026-12-24T17:00-05:00", "Deploy | Thu 2026-12-24 23:00"},
		{"Archive files of 2020 on 2020-01-31", "Archive files of 2020 | Fri 2020-01-31 23:59"},
		{"Party 24.12.2026 18:00", "Party | Thu 2026-12-24 18:00"},
		{"Party on 24.12.", "Party | Thu 2026-12-24 23:59"},
		{"Party 12/24/2026", "Party | Thu 2026-12-24 23:59"},
		{"Party 3/4/2027", "Party | Sat 2027-04-03 23:59"},
		{"Taxes by 31/5", "Taxes | Mon 2027-05-31 23:59"},

		// Times.
		{"Call Bob at 5pm", "Call Bob | Wed 2026-12-02 17:00"},
		{"Call Bob at 5 p.m. sharp", "Call Bob sharp | Wed 2026-12-02 17:00"},
		{"Call Bob at 9am", "Call Bob | Thu 2026-12-03 09:00"},
		{"Call Bob 17:30", "Call Bob | Wed 2026-12-02 17:30"},
		{"Call Bob 08:30", "Call Bob | Thu 2026-12-03 08:30"},
		{"Call Bob at 5", "Call Bob | Wed 2026-12-02 17:00"},
		{"Call Bob at 05:00", "Call Bob | Thu 2026-12-03 05:00"},
		{"Call Bob at 8 in the evening", "Call Bob | Wed 2026-12-02 20:00"},
		{"Call Bob at 12am", "Call Bob | Thu 2026-12-03 00:00"},
		{"Call Bob at 12pm", "Call Bob | Wed 2026-12-02 12:00"},
		{"Call Bob at noon", "Call Bob | Wed 2026-12-02 12:00"},
		{"Launch at midnight on friday", "Launch | Sat 2026-12-05 00:00"},
		{"Launch at midnight", "Launch | Thu 2026-12-03 00:00"},
		{"Call Bob at half past five", "Call Bob | Wed 2026-12-02 17:30"},
		{"Call Bob at quarter to 11", "Call Bob | Wed 2026-12-02 10:45"},
		{"Call Bob at 3 o'clock", "Call Bob | Wed 2026-12-02 15:00"},
		{"Call Bob 17h30", "Call Bob | Wed 2026-12-02 17:30"},
		{"Call Bob at 17.30", "Call Bob | Wed 2026-12-02 17:30"},
		{"Standup 9:30-10:00 tomorrow", "Standup | Thu 2026-12-03 09:30"},
		{"Gym from 5 to 6pm", "Gym | Wed 2026-12-02 17:00"},
		{"Lunch 11-1pm", "Lunch | Wed 2026-12-02 11:00"},
		{"Gym @ 7pm", "Gym | Wed 2026-12-02 19:00"},
		{"5pm tomorrow call the bank", "call the bank | Thu 2026-12-03 17:00"},
		{"At 5pm call the bank on friday", "call the bank | Fri 2026-12-04 17:00"},
		{"Call Bob today at 9am", "Call Bob | Wed 2026-12-02 09:00"},

		// Tags and priorities.
		{"Buy milk #Shopping #home", "Buy milk |  |  | shopping,home"},
		{"Buy milk #home #Home", "Buy milk |  |  | home"},
		{"Milch kaufen #Größe #हिन्दी #покупки", "Milch kaufen |  |  | größe,हिन्दी,покупки"},
		{"Fix bug #42 in v1.2.3", "Fix bug #42 in v1.2.3"},
		{"Learn C# and F#", "Learn C# and F#"},
		{"See https://example.com/#top #web", "See https://example.com/#top |  |  | web"},
		{"Plan (#q1-goals) now", "Plan now |  |  | q1-goals"},
		{"Ship #a#b", "Ship |  |  | a,b"},
		{"Pay rent !high", "Pay rent |  | high"},
		{"Pay rent !Medium", "Pay rent |  | medium"},
		{"Pay rent !low", "Pay rent |  | low"},
		{"Pay rent !1", "Pay rent |  | high"},
		{"Pay rent !2", "Pay rent |  | medium"},
		{"Pay rent !3", "Pay rent |  | low"},
		{"!!! Pay rent", "Pay rent |  | high"},
		{"Pay rent !!", "Pay rent |  | medium"},
		{"Pay rent!!!", "Pay rent!!!"},
		{"Attention ! au chien", "Attention ! au chien"},
		{"Pay rent !high !low", "Pay rent !low |  | high"},
		{"Pay rent !4", "Pay rent !4"},
		{"Pay rent tomorrow 5pm !high #home #money", "Pay rent | Thu 2026-12-03 17:00 | high | home,money"},

		// Titles and notes.
		{"Call Bob tomorrow.", "Call Bob. | Thu 2026-12-03 23:59"},
		{"Call Bob, tomorrow, about it", "Call Bob, about it | Thu 2026-12-03 23:59"},
		{"Call Bob (tomorrow) please", "Call Bob please | Thu 2026-12-03 23:59"},
		{"Call Bob -- ask for the invoice; and #thank him tomorrow", "Call Bob |  |  |  | ask for the invoice; and #thank him tomorrow"},
		{"Buy milk and bread. Then rest.", "Buy milk and bread. Then rest."},
		{"tomorrow", "tomorrow | Thu 2026-12-03 23:59"},
		{"#work", "#work |  |  | work"},
		{"🎂 tomorrow", "🎂 | Thu 2026-12-03 23:59"},
		{"  buy \t  milk\u00a0 ", "buy milk"},
		{"התקשר לבוב tomorrow #עבודה", "התקשר לבוב | Thu 2026-12-03 23:59 |  | עבודה"},

		// Words that only look like dates and times.
		{"Buy sun cream and an evening dress", "Buy sun cream and an evening dress"},
		{"The cat sat", "The cat sat"},
		{"She may come", "She may come"},
		{"This may 5 times out of ten fail", "This may 5 times out of ten fail"},
		{"Read today's paper", "Read today's paper"},
		{"Write up last friday's demo", "Write up last friday's demo"},
		{"Write about last friday", "Write about last friday"},
		{"Water the plants every monday", "Water the plants every monday"},
		{"Black Friday shopping", "Black Friday shopping"},
		{"Meet on the 5th floor", "Meet on the 5th floor"},
		{"Taxes on 31 April", "Taxes on 31 April"},
		{"Meet at 5 Main Street", "Meet at 5 Main Street"},
		{"Buy 1/2 cup of rice", "Buy 1/2 cup of rice"},
		{"Run at 25:00", "Run at 25:00"},
		{"Call at 13pm", "Call at 13pm"},
		{"Open /reports/2026-12-24 or x-2026-12-24", "Open /reports/2026-12-24 or x-2026-12-24"},
		{"Mail today@example.com", "Mail today@example.com"},
		{"Sell #tomorrow", "Sell |  |  | tomorrow"},
		{"Wait in 99999 days", "Wait in 99999 days"},
		{"Wait in 9999 years", "Wait in 9999 years"},
		{"Überübermorgen tomorrowish", "Überübermorgen tomorrowish"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			now := wednesday(t)
			drafts := read(t, test.text, now)
			if len(drafts) != 1 {
				t.Fatalf("got %d drafts, want 1: %+v", len(drafts), drafts)
			}
			if got := shown(drafts[0], now.Location()); got != test.want {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestLocalReadsSeveralTasks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blanks and rules", " \n---\n\t\n***\n!!! ... \n", nil},
		{"lines", "Buy milk\nCall Bob tomorrow\r\nPay rent", []string{"Buy milk", "Call Bob | Thu 2026-12-03 23:59", "Pay rent"}},
		{"other line ends", "Buy milk\rCall Bob\u2028Pay rent", []string{"Buy milk", "Call Bob", "Pay rent"}},
		{"semicolons", "Buy milk; call Bob tomorrow; pay rent !high", []string{"Buy milk", "call Bob | Thu 2026-12-03 23:59", "pay rent |  | high"}},
		{"semicolons inside words", "See a;b and ;)", []string{"See a;b and ;)"}},
		{"bullets", "- Buy milk\n* Call Bob\n• Pay rent\n– Rest", []string{"Buy milk", "Call Bob", "Pay rent", "Rest"}},
		{"check boxes", "- [ ] Buy milk\n- [x] Call Bob\n[ ] Pay rent", []string{"Buy milk", "Call Bob", "Pay rent"}},
		{"numbers", "1. Buy milk\n2) Call Bob\n(3) Pay rent", []string{"Buy milk", "Call Bob", "Pay rent"}},
		{"no list", "3 eggs\n-5 degrees\n1.5 litres", []string{"3 eggs", "-5 degrees", "1.5 litres"}},
		{"and", "Buy milk and call Bob", []string{"Buy milk and call Bob"}},
		{"indented notes", "Buy milk\n  two litres\n\n\tnot #skimmed; really\nCall Bob", []string{"Buy milk |  |  |  | two litres\nnot #skimmed; really", "Call Bob"}},
		{"indented bullets are notes", "- Pack\n  - socks\n  - shirts\n- Go", []string{"Pack |  |  |  | - socks\n- shirts", "Go"}},
		{"all indented alike", "  Buy milk\n  Call Bob", []string{"Buy milk", "Call Bob"}},
		{"both kinds of notes", "Buy milk -- two litres\n  not skimmed", []string{"Buy milk |  |  |  | two litres\nnot skimmed"}},
		{
			"a heading speaks for its list", "Friday !high #trip:\n- pack at 9\n- leave 15:00 !low\n- arrive saturday #sea\nRest",
			[]string{
				"pack | Fri 2026-12-04 09:00 | high | trip", "leave | Fri 2026-12-04 15:00 | low | trip",
				"arrive | Sat 2026-12-05 23:59 | high | sea,trip", "Rest",
			},
		},
		{"a heading over an indented list", "Shopping:\n  milk\n  bread\nRest", []string{"milk", "bread", "Rest"}},
		{"headings in a list", "- Tomorrow:\n  - buy milk\n- rest", []string{"buy milk | Thu 2026-12-03 23:59", "rest"}},
		{"a colon without a list", "Remember:\nbuy milk", []string{"Remember", "buy milk"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			now := wednesday(t)
			var got []string
			for _, d := range read(t, test.text, now) {
				got = append(got, shown(d, now.Location()))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestLocalMindsTheZone reads the same words in several zones, around changes of summer time and of the date.
func TestLocalMindsTheZone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, zone, now, text, want string // now and want in UTC
	}{
		{"west of UTC it is still yesterday", "America/Los_Angeles", "2026-12-03T02:00:00Z", "Call tomorrow", "2026-12-04T07:59:00Z"},
		{"east of UTC it is tomorrow already", "Pacific/Auckland", "2026-12-02T22:00:00Z", "Call tomorrow", "2026-12-04T10:59:00Z"},
		{"half an hour zone", "Asia/Kolkata", "2026-12-02T10:00:00Z", "Call at 5pm", "2026-12-02T11:30:00Z"},
		{"quarter of an hour zone", "Asia/Kathmandu", "2026-12-02T10:00:00Z", "Call today", "2026-12-02T18:14:00Z"},
		{"UTC", "UTC", "2026-12-02T10:00:00Z", "Call at 09:00", "2026-12-03T09:00:00Z"},
		{"the day before summer time", "Europe/Berlin", "2026-03-28T12:00:00Z", "Call tomorrow at 17:30", "2026-03-29T15:30:00Z"},
		{"the day before winter time", "Europe/Berlin", "2026-10-24T12:00:00Z", "Call tomorrow at 17:30", "2026-10-25T16:30:00Z"},
		{"days over summer time", "America/New_York", "2026-03-07T20:00:00Z", "Call in 3 days at 9am", "2026-03-10T13:00:00Z"},
		{"days over winter time late in the evening", "America/New_York", "2026-10-31T03:30:00Z", "Call in 3 days", "2026-11-03T04:59:00Z"},
		{"hours over summer time are real", "Europe/Berlin", "2026-03-29T00:30:00Z", "Call in 2 hours", "2026-03-29T02:30:00Z"},
		{"hours over winter time are real", "Europe/Berlin", "2026-10-24T23:30:00Z", "Call in 3 hours", "2026-10-25T02:30:00Z"},
		{"a skipped time is as much later", "Europe/Berlin", "2026-03-28T12:00:00Z", "Call tomorrow at 02:30", "2026-03-29T01:30:00Z"},
		{"a repeated time is the first", "Europe/Berlin", "2026-10-24T12:00:00Z", "Call tomorrow at 02:30", "2026-10-25T00:30:00Z"},
		{"a bare time may be the second", "Europe/Berlin", "2026-10-25T00:45:00Z", "Call at 02:30", "2026-10-25T01:30:00Z"},
		{"a midnight that is skipped", "America/Santiago", "2026-09-05T12:00:00Z", "Call at midnight", "2026-09-06T04:00:00Z"},
		{"half an hour of summer time", "Australia/Lord_Howe", "2026-10-03T02:00:00Z", "Call tomorrow at 02:15", "2026-10-03T15:45:00Z"},
		{"a day that never was", "Pacific/Apia", "2011-12-29T20:00:00Z", "Call tomorrow at noon", "2011-12-30T22:00:00Z"},
		{"the end of a month", "Europe/London", "2026-01-31T12:00:00Z", "Pay in a month", "2026-02-28T23:59:00Z"},
		{"31st to a short month", "Europe/London", "2026-01-31T12:00:00Z", "Pay on 5 Feb", "2026-02-05T23:59:00Z"},
		{"the 31st skips short months", "Europe/London", "2026-02-01T12:00:00Z", "Pay on the 31st", "2026-03-31T22:59:00Z"},
		{"the end of a year", "Europe/London", "2026-12-31T23:30:00Z", "Cheer in an hour", "2027-01-01T00:30:00Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, test.now)
			if err != nil {
				t.Fatal(err)
			}
			drafts := read(t, test.text, now.In(zone(t, test.zone)))
			if len(drafts) != 1 || drafts[0].DueAt == nil {
				t.Fatalf("got %+v, want one draft with a due time", drafts)
			}
			if got := drafts[0].DueAt.Format(time.RFC3339); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestLocalSaysWhatItUnderstoodWhere cuts the spans out of the text as a browser would.
func TestLocalSaysWhatItUnderstoodWhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string // of all drafts
	}{
		{"nothing", "Call Bob", nil},
		{"each kind", "Call Bob by friday at 5pm #work !high", []string{"date:by friday", "time:at 5pm", "tag:#work", "priority:!high"}},
		{"after wide runes", "🎂🎂 Größe हिन्दी tomorrow #торт", []string{"date:tomorrow", "tag:#торт"}},
		{"after invalid bytes", "a\xff\xfe\xf0 tomorrow", []string{"date:tomorrow"}},
		{"lines and bullets", "- a #x\r\n- b at 9:30\n  note #n\n- c; d !!", []string{"tag:#x", "time:at 9:30", "priority:!!"}},
		{"a heading once", "Tomorrow:\n- a\n- b #x", []string{"date:Tomorrow", "tag:#x"}},
		{"only the first of a kind", "a tomorrow or friday", []string{"date:tomorrow"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sent := utf16.Encode([]rune(test.text))
			var got []string
			for _, d := range read(t, test.text, wednesday(t)) {
				for _, s := range d.Spans {
					got = append(got, s.Kind+":"+string(utf16.Decode(sent[s.Start:s.End])))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestLocalKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	now := wednesday(t)

	t.Run("a long title is cut at a word", func(t *testing.T) {
		t.Parallel()
		text := strings.Repeat("word ", 60) + "-- the notes"
		d := read(t, text, now)[0]
		if want := strings.TrimSpace(strings.Repeat("word ", 40)); d.Title != want {
			t.Errorf("title = %q, want 40 words", d.Title)
		}
		if want := strings.TrimSpace(strings.Repeat("word ", 20)) + "\nthe notes"; d.Notes != want {
			t.Errorf("notes = %q, want the other 20 words and the notes", d.Notes)
		}
	})
	t.Run("one very long word is cut at a rune", func(t *testing.T) {
		t.Parallel()
		d := read(t, strings.Repeat("x", 199)+strings.Repeat("🎂", 3), now)[0]
		if d.Title != strings.Repeat("x", 199) || d.Notes != "🎂🎂🎂" {
			t.Errorf("got title %q and notes %q", d.Title, d.Notes)
		}
	})
	t.Run("notes are cut", func(t *testing.T) {
		t.Parallel()
		d := read(t, "Title -- "+strings.Repeat("é", parse.MaxNotes+5), now)[0]
		if n := len([]rune(d.Notes)); n != parse.MaxNotes {
			t.Errorf("notes have %d characters, want %d", n, parse.MaxNotes)
		}
	})
	t.Run("the eleventh tag stays in the title", func(t *testing.T) {
		t.Parallel()
		d := read(t, "Buy #a #b #c #d #e #f #g #h #i #j #k #a", now)[0]
		if d.Title != "Buy #k" || len(d.Tags) != parse.MaxTags {
			t.Errorf("got title %q and tags %q", d.Title, d.Tags)
		}
	})
	t.Run("a tag too long stays in the title", func(t *testing.T) {
		t.Parallel()
		fits, tooLong := strings.Repeat("t", parse.MaxTagLength), strings.Repeat("u", parse.MaxTagLength+1)
		d := read(t, "Buy #"+fits+" #"+tooLong, now)[0]
		if d.Title != "Buy #"+tooLong || !slices.Equal(d.Tags, []string{fits}) {
			t.Errorf("got title %q and tags %q", d.Title, d.Tags)
		}
	})
	t.Run("control characters go", func(t *testing.T) {
		t.Parallel()
		d := read(t, "Buy\x00 milk\x1b -- two\x00litres", now)[0]
		if d.Title != "Buy milk" || d.Notes != "two litres" {
			t.Errorf("got title %q and notes %q", d.Title, d.Notes)
		}
	})
}

func TestLocalHasDefaults(t *testing.T) {
	t.Parallel()
	before := time.Now()
	result, err := local().Parse(context.Background(), parse.Request{Text: "Call in an hour"})
	if err != nil || len(result.Drafts) != 1 || result.Drafts[0].DueAt == nil {
		t.Fatalf("Parse = %+v, %v; want one draft with a due time", result, err)
	}
	// Due times are whole seconds, so the earliest is up to one before an hour from then.
	due, after := *result.Drafts[0].DueAt, time.Now()
	if due.Before(before.Add(time.Hour-time.Second)) || due.After(after.Add(time.Hour)) || due.Location() != time.UTC {
		t.Errorf("due at %v, want an hour after a moment from %v to %v, in UTC", due, before, after)
	}
}
