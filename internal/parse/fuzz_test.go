package parse_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/parse"
)

// FuzzLocal checks what holds for every text at every moment in every zone.
func FuzzLocal(f *testing.F) {
	for _, text := range append(hostile(250), "", "Call Bob tomorrow at 5pm #work !high", "Friday:\n- a; b -- c\n  d",
		"a\xff\xfe\xf0\x9f #\xffx", "קנה חלב tomorrow #בית \u202e!high", "in 9999 years", "0000-00-00",
		strings.Repeat("at 5 ", 400), strings.Repeat("#", 5000)) {
		f.Add(text, int64(1_796_202_930), "Europe/Berlin")
	}
	f.Add("tomorrow 24:00", int64(253_402_300_799), "Pacific/Apia") // the last second of the year 9999
	f.Fuzz(func(t *testing.T, text string, now int64, zone string) {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			loc = time.UTC
		}
		at := time.Unix(now%(1<<38), 0)
		result, err := local().Parse(context.Background(), parse.Request{Text: text, Location: loc, Now: at})
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		checkDrafts(t, text, result.Drafts)
	})
}

// TestLocalHoldsOnRandomTexts checks the same on texts made of the words that the grammar knows.
func TestLocalHoldsOnRandomTexts(t *testing.T) {
	t.Parallel()
	now := wednesday(t)
	word := rapid.SampledFrom([]string{
		"buy", "Größe", "🎂", "at", "on", "by", "5", "17:30", "5pm", "a.m.", "noon", "tomorrow", "next", "friday", "week",
		"in", "3", "days", "12", "March", "2027", "2026-12-24", "#x", "#", "##y", "!high", "!!", "--", ";", ":", ":\n", "\n",
		"\n  ", "\n- ", "1.", "(", ")", ",", "\xff", "\u202e", "-", "from", "to", "half", "past", "the", "end", "of", "month",
	})
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 0, 40).Draw(t, "words")
		text := strings.Join(words, rapid.SampledFrom([]string{" ", "", "  "}).Draw(t, "between"))
		result, err := local().Parse(context.Background(), parse.Request{Text: text, Location: now.Location(), Now: now})
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		checkDrafts(t, text, result.Drafts)
	})
}

// TestLocalMindsNoOrder says the same in every order.
func TestLocalMindsNoOrder(t *testing.T) {
	t.Parallel()
	now := wednesday(t)
	const want = "Call Bob | Fri 2026-12-04 17:00 | high | work,home"
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.Permutation([]string{"Call Bob", "on friday", "at 5pm", "#work #home", "!high"}).Draw(t, "parts")
		text := strings.Join(parts, " ")
		result, err := local().Parse(context.Background(), parse.Request{Text: text, Location: now.Location(), Now: now})
		if err != nil || len(result.Drafts) != 1 {
			t.Fatalf("Parse(%q) = %+v, %v; want one draft", text, result, err)
		}
		if got := shown(result.Drafts[0], now.Location()); got != want {
			t.Fatalf("Parse(%q) = %q, want %q", text, got, want)
		}
	})
}

// BenchmarkLocal shows that the time grows with the text and no faster: ns/byte is alike for both lengths of a shape.
func BenchmarkLocal(b *testing.B) {
	now := time.Date(2026, time.December, 2, 10, 15, 30, 0, time.UTC)
	for _, n := range []int{2_000, 32_000} {
		for _, text := range hostile(n) {
			b.Run(fmt.Sprintf("%.12q/%d", text, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := local().Parse(context.Background(), parse.Request{Text: text, Now: now}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// hostile are texts of n bytes that make a careless parser slow.
func hostile(n int) []string {
	texts := []string{}
	for _, piece := range []string{
		"#", "#a", "#a ", "!", "!! ", ";", "; ", "a; ", " ", "\n", "\n  x", "- ", "at ", "at 5 ", "in ", "in 3 ", "1", "1:", "12:60 ",
		"every friday ", "friday's ", "2026-", "31 April ", "from ", "(", "( ) ", "-- ", "tomorrowx ", "5 to ", "word ", "🎂", "\xff",
	} {
		texts = append(texts, strings.Repeat(piece, n/len(piece)))
	}
	return texts
}

// failer is what the checks need of *testing.T and *rapid.T.
type failer interface {
	Fatalf(format string, args ...any)
}

// checkDrafts fails unless each draft could be saved as a task and the spans can be shown in text.
func checkDrafts(t failer, text string, drafts []parse.Draft) {
	spans := []parse.Span{}
	for _, d := range drafts {
		checkTitle(t, text, d)
		checkTags(t, text, d)
		if n := length(d.Notes); n > parse.MaxNotes || !utf8.ValidString(d.Notes) || strings.ContainsRune(d.Notes, 0) {
			t.Fatalf("Parse(%q): notes of %d units, or not fit to be stored", text, n)
		}
		if d.DueAt != nil && (d.DueAt.Location() != time.UTC || d.DueAt.Year() < 1970 || d.DueAt.Year() > 9999) {
			t.Fatalf("Parse(%q): due at %v", text, d.DueAt)
		}
		if !slices.Contains([]string{"none", "low", "medium", "high"}, d.Priority) {
			t.Fatalf("Parse(%q): priority %q", text, d.Priority)
		}
		spans = append(spans, d.Spans...)
	}
	checkSpans(t, text, spans)
}

func checkTitle(t failer, text string, d parse.Draft) {
	if n := length(d.Title); n < 1 || n > parse.MaxTitle || !utf8.ValidString(d.Title) {
		t.Fatalf("Parse(%q): title %q of %d units", text, d.Title, n)
	}
	if strings.ContainsFunc(d.Title, unicode.IsControl) || strings.TrimSpace(d.Title) != d.Title {
		t.Fatalf("Parse(%q): untidy title %q", text, d.Title)
	}
}

func checkTags(t failer, text string, d parse.Draft) {
	if d.Tags == nil || len(d.Tags) > parse.MaxTags || len(slices.Compact(slices.Sorted(slices.Values(d.Tags)))) != len(d.Tags) {
		t.Fatalf("Parse(%q): tags %q", text, d.Tags)
	}
	for _, tag := range d.Tags {
		if n := length(tag); n < 1 || n > parse.MaxTagLength || tag != strings.ToLower(tag) || strings.ContainsAny(tag, "# \n") {
			t.Fatalf("Parse(%q): tag %q", text, tag)
		}
	}
}

func checkSpans(t failer, text string, spans []parse.Span) {
	kinds, end := []string{parse.KindDate, parse.KindTime, parse.KindTag, parse.KindPriority}, 0
	for _, s := range spans {
		if s.Start < end || s.End <= s.Start || s.End > length(text) || !slices.Contains(kinds, s.Kind) {
			t.Fatalf("Parse(%q): spans %v are not in order within %d units", text, spans, length(text))
		}
		end = s.End
	}
}

// length is in UTF-16 units.
func length(s string) int { return len(utf16.Encode([]rune(s))) }
