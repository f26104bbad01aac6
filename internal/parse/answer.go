package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
)

// The most that is read of an answer: more than a text of 2 000 characters gives.
const maxDrafts, maxQuotes = 100, 2 * MaxTags

// answer is what the model was asked for. Pointers tell what is missing from what is empty.
type answer struct {
	Drafts []answerDraft `json:"drafts"`
}

type answerDraft struct {
	Title    *string   `json:"title"`
	Notes    *string   `json:"notes"`
	Due      *string   `json:"due"`
	Priority *string   `json:"priority"`
	Tags     *[]string `json:"tags"`
	Quotes   *[]quote  `json:"quotes"`
}

// A quote is words of the text from which the model says it took something.
type quote struct {
	Kind  string `json:"kind"`
	Words string `json:"words"`
}

// draftsOf checks an answer and makes drafts of it. An error says what is wrong, without repeating the answer, which
// may hold the person's words.
func draftsOf(completion *openai.ChatCompletion, req Request) ([]Draft, error) {
	content, err := contentOf(completion)
	if err != nil {
		return nil, err
	}
	a, err := decode(content)
	if err != nil {
		return nil, err
	}
	finder := newFinder(req.Text)
	drafts := make([]Draft, len(a.Drafts))
	for i, d := range a.Drafts {
		if drafts[i], err = d.checked(req.Location, finder); err != nil {
			return nil, fmt.Errorf("check draft %d: %w", i+1, err)
		}
	}
	return drafts, nil
}

// contentOf is the text of a complete answer.
func contentOf(completion *openai.ChatCompletion) (string, error) {
	if len(completion.Choices) == 0 {
		return "", errors.New("the answer has no choice")
	}
	choice := completion.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return "", errors.New("the model refused")
	case choice.FinishReason != "stop" && choice.FinishReason != "":
		return "", fmt.Errorf("the answer is not complete: it ended by %.20q", choice.FinishReason)
	case choice.Message.Content == "":
		return "", errors.New("the answer is empty")
	}
	return choice.Message.Content, nil
}

// decode reads the content strictly: one JSON value, no unknown fields, at least one draft.
func decode(content string) (answer, error) {
	var a answer
	decoder := json.NewDecoder(bytes.NewReader([]byte(content)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return answer{}, errors.New("the answer is not the JSON that was asked for")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return answer{}, errors.New("the answer goes on after its JSON")
	}
	if n := len(a.Drafts); n == 0 || n > maxDrafts {
		return answer{}, fmt.Errorf("the answer has %d drafts, which should be 1 to %d", n, maxDrafts)
	}
	return a, nil
}

// checked is the draft if it keeps to the schema. A long title is cut as the local parser does it; what cannot be put
// right is an error.
func (d answerDraft) checked(loc *time.Location, finder *finder) (Draft, error) {
	if d.Title == nil || d.Notes == nil || d.Priority == nil || d.Tags == nil || d.Quotes == nil {
		return Draft{}, errors.New("a field is missing")
	}
	title, rest := titleOf(cleaned(*d.Title), nil)
	if title == "" {
		return Draft{}, errors.New("the title has no word")
	}
	due, err := dueOf(d.Due, loc)
	if err != nil {
		return Draft{}, err
	}
	tags, err := tagsOf(*d.Tags)
	if err != nil {
		return Draft{}, err
	}
	if !isPriority(*d.Priority) {
		return Draft{}, errors.New("the priority is not one of none, low, medium, high")
	}
	draft := Draft{Title: title, Notes: notesOf(rest, cleaned(*d.Notes)), DueAt: due, Priority: *d.Priority, Tags: tags}
	draft.Spans = finder.spans(*d.Quotes)
	return draft, nil
}

func dueOf(due *string, loc *time.Location) (*time.Time, error) {
	if due == nil {
		return nil, nil
	}
	t, ok := timeOf(*due, loc)
	if !ok {
		return nil, errors.New("the due date is neither YYYY-MM-DD nor YYYY-MM-DDTHH:MM")
	}
	return &t, nil
}

// tagsOf puts tags into the form of the local parser's.
func tagsOf(given []string) ([]string, error) {
	tags := []string{}
	for _, tag := range given {
		tag = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(tag), "#"))
		if !validTag(tag) {
			return nil, fmt.Errorf("a tag is not 1 to %d letters, digits, '-' or '_'", MaxTagLength)
		}
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > MaxTags {
		return nil, fmt.Errorf("there are %d tags, at most %d are allowed", len(tags), MaxTags)
	}
	return tags, nil
}

func isPriority(p string) bool {
	return slices.Contains([]string{PriorityNone, PriorityLow, PriorityMedium, PriorityHigh}, p)
}

// A finder finds a model's quotes in the text. Positions are not asked of the model: it cannot count.
type finder struct {
	text    string
	offsets []int
	taken   []phrase // over all drafts: no two claim the same words
}

func newFinder(text string) *finder {
	text = cleaned(text)
	return &finder{text: text, offsets: unitOffsets(text)}
}

// spans are where the quotes stand, in order. A quote that is not in the text, or only in words that are taken, is
// left out.
func (f *finder) spans(quotes []quote) []Span {
	spans := []Span{}
	for _, q := range quotes[:min(len(quotes), maxQuotes)] {
		if p, ok := f.find(q); ok {
			f.taken = append(f.taken, p)
			spans = append(spans, Span{Start: f.offsets[p.start], End: f.offsets[p.end], Kind: p.kind})
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	return spans
}

// find is the first place of the quote that is not taken.
func (f *finder) find(q quote) (phrase, bool) {
	words := strings.TrimSpace(cleaned(q.Words))
	if words == "" || !slices.Contains([]string{KindDate, KindTime, KindTag, KindPriority}, q.Kind) {
		return phrase{}, false
	}
	for from := 0; ; {
		i := strings.Index(f.text[from:], words)
		if i < 0 {
			return phrase{}, false
		}
		p := phrase{q.Kind, from + i, from + i + len(words)}
		if !slices.ContainsFunc(f.taken, p.overlaps) {
			return p, true
		}
		from = p.end
	}
}
