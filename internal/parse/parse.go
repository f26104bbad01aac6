// Package parse turns free text into task drafts.
//
// Two parsers stand behind one interface: Local knows a small English grammar and needs nothing but the processor;
// Model asks an OpenAI-compatible model and falls back to Local when the answer is of no use.
package parse

import (
	"context"
	"errors"
	"time"
)

// The limits of a draft. They are those of a task, so that every draft can be saved as it is.
// Lengths are UTF-16 code units, as browsers count.
const (
	MaxTitle     = 200
	MaxNotes     = 10_000
	MaxTags      = 10
	MaxTagLength = 32
)

// The names of the parsers in Result.Parser.
const (
	LocalParser = "local"
	ModelParser = "model"
)

// The values of Draft.Priority.
const (
	PriorityNone   = "none"
	PriorityLow    = "low"
	PriorityMedium = "medium"
	PriorityHigh   = "high"
)

// The values of Span.Kind.
const (
	KindDate     = "date"
	KindTime     = "time"
	KindTag      = "tag"
	KindPriority = "priority"
)

// ErrUpstream marks a failure of the model that nothing made good. It is returned only by a Model without a fallback.
var ErrUpstream = errors.New("the model gave no usable answer")

// A Parser reads the tasks out of a text. It is safe for concurrent use.
//
// A text without any task gives no drafts and no error. Errors are those of ctx, and ErrUpstream.
type Parser interface {
	Parse(ctx context.Context, req Request) (Result, error)
	// Bound is the most tokens that Parse can cost for a request whose text and time zone came in so many bytes of
	// UTF-8 JSON; 0 where no model is ever asked.
	Bound(bytes int64) int64
}

// A Request is the text and what its words are relative to.
type Request struct {
	Text     string
	Location *time.Location // the writer's time zone; nil is UTC
	Now      time.Time      // the moment that "tomorrow" is relative to; zero is the time of the call
}

// A Result is what a parser made of a text, in the order of the text. It is worth reading beside an error, too:
// Usage and Reached say what the attempt cost.
type Result struct {
	Parser  string // LocalParser or ModelParser: who made the drafts
	Drafts  []Draft
	Usage   Usage // the tokens that the model reported; zero when it reported none or was not asked
	Reached bool  // the model may have worked on the request, so that it may cost money even without a usable answer
	Fault   error // why the model's answer was not used, for the log; nil when it was, or when none was asked
}

// Usage counts tokens.
type Usage struct {
	Prompt, Answer int64
}

// Total is the whole cost in tokens.
func (u Usage) Total() int64 { return u.Prompt + u.Answer }

// A Draft is a task that is not saved yet.
type Draft struct {
	Title    string     // 1 to MaxTitle units, one line
	Notes    string     // at most MaxNotes units
	DueAt    *time.Time // in UTC; nil for none
	Priority string     // one of the Priority constants
	Tags     []string   // lower case, without '#', no duplicates; never nil
	Spans    []Span     // what was understood where: in order, not overlapping; never nil
}

// A Span is a piece of the request's text, in UTF-16 code units from its beginning, [Start, End).
// A byte that is not UTF-8 counts as one unit, as it does once JSON has replaced it.
type Span struct {
	Start, End int
	Kind       string
}

// settled is the request with its defaults filled in.
func (r Request) settled() Request {
	if r.Location == nil {
		r.Location = time.UTC
	}
	if r.Now.IsZero() {
		r.Now = time.Now()
	}
	return r
}
