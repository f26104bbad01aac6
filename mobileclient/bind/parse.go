package bind

import "example.com/gatehouse/api"

// ParseResult is what was understood of a text.
type ParseResult struct {
	// Parser is local or model.
	Parser string

	drafts []api.Draft
}

// Len is how many drafts there are.
func (r *ParseResult) Len() int { return len(r.drafts) }

// At is one of them; null beyond the last.
func (r *ParseResult) At(i int) *ParsedDraft {
	d := pointerAt(r.drafts, i)
	if d == nil {
		return nil
	}
	return &ParsedDraft{
		Title: d.Title, Notes: d.Notes, DueAtMillis: millisOf(d.DueAt), Priority: string(d.Priority), tags: d.Tags, spans: d.Spans,
	}
}

// ParsedDraft is a task that is not saved yet.
type ParsedDraft struct {
	Title, Notes string
	DueAtMillis  int64
	Priority     string

	tags  []string
	spans []api.Span
}

// TagCount is how many tags the draft has.
func (d *ParsedDraft) TagCount() int { return len(d.tags) }

// TagAt is one of them.
func (d *ParsedDraft) TagAt(i int) string { return at(d.tags, i) }

// SpanCount is how many parts of the text were understood.
func (d *ParsedDraft) SpanCount() int { return len(d.spans) }

// SpanAt is one of them; null beyond the last.
func (d *ParsedDraft) SpanAt(i int) *Span {
	s := pointerAt(d.spans, i)
	if s == nil {
		return nil
	}
	return &Span{Start: s.Start, End: s.End, Kind: s.Kind}
}

// Span is a part of the text, half open, in UTF-16 code units, and what it was taken for.
type Span struct {
	Start, End int
	Kind       string
}

// Task makes the draft one that can be created.
func (d *ParsedDraft) Task() *TaskDraft {
	return &TaskDraft{Title: d.Title, Notes: d.Notes, DueAtMillis: d.DueAtMillis, Priority: d.Priority, tags: d.tags}
}

// Parse turns free text into task drafts and saves nothing. The timezone is an IANA name; empty is UTC.
func (c *Client) Parse(call *Call, text, timezone string) (result *ParseResult, err error) {
	defer recovered(&err)
	r, err := c.sdk.Parse(call.context(), api.ParseRequest{Text: text, Timezone: timezone}, call.options()...)
	if err != nil {
		return nil, err
	}
	return &ParseResult{Parser: r.Parser, drafts: r.Drafts}, nil
}
