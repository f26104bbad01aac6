package parse

import (
	"strings"
	"unicode"
)

// titleOf is the title that is left of line without the phrases, and what is beyond the longest title. A line that is
// all phrases keeps its words as the title. Both are empty if the line has no word.
func titleOf(line string, phrases []phrase) (title, rest string) {
	title = tidy(without(line, phrases))
	if !hasWord(title) {
		title = tidy(line)
	}
	if !hasWord(title) {
		return "", ""
	}
	return cut(title)
}

// without is line with a blank and a gap mark for each phrase.
func without(line string, phrases []phrase) string {
	var b strings.Builder
	at := 0
	for _, p := range phrases {
		b.WriteString(line[at:p.start])
		b.WriteString(" " + gap)
		at = p.end
	}
	b.WriteString(line[at:])
	return b.String()
}

// gap marks where a phrase was. It is a control character, which cleaned text does not hold.
const gap = string(rune(maskByte))

// tidy closes the gaps: blanks become one, punctuation after a gap joins the word before it and is not doubled,
// brackets around nothing go, and so does what would dangle at either end. Other words stay as they are.
func tidy(s string) string {
	words := []string{}
	s = strings.ReplaceAll(s, " "+gap+", "+" "+gap, " "+gap) // the comma of "friday, 5pm"
	for field := range strings.FieldsSeq(s) {
		word := strings.TrimPrefix(field, gap)
		last := len(words) - 1
		switch {
		case word == "", last < 0 && isSeparator(word):
		case word == field:
			words = append(words, word)
		case last >= 0 && closes(words[last], word):
			words = words[:last]
		case !isPunctuation(word):
			words = append(words, word)
		case last >= 0 && !endsInPunctuation(words[last]):
			words[last] += word
		}
	}
	for len(words) > 0 && isSeparator(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.TrimRight(strings.Join(words, " "), ",;:")
}

// closes reports whether the two words are brackets with nothing left between them.
func closes(opening, closing string) bool {
	return opening == "(" && closing == ")" || opening == "[" && closing == "]"
}

// isPunctuation reports whether word is only what ends or parts sentences.
func isPunctuation(word string) bool { return strings.Trim(word, ".,;:!?") == "" }

func endsInPunctuation(word string) bool { return strings.ContainsAny(word[len(word)-1:], ".,;:!?") }

// isSeparator reports whether word only parts others.
func isSeparator(word string) bool { return strings.Trim(word, ",;:.-–—|/") == "" }

// hasWord reports whether s says anything: a letter, a number, or a symbol such as an emoji.
func hasWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.So, r) && r != unicode.ReplacementChar
	})
}

// cut splits a long title at a blank, or, in one very long word, at a rune.
func cut(title string) (head, rest string) {
	head = prefix(title, MaxTitle)
	if len(head) == len(title) {
		return title, ""
	}
	if blank := strings.LastIndexByte(head, ' '); blank > 0 && title[len(head)] != ' ' {
		head = head[:blank]
	}
	return strings.TrimRight(head, " "), strings.TrimSpace(title[len(head):])
}
