package api

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The rules of the request bodies. Lengths of text are in characters (Unicode code points).
const (
	MaxTitle  = 200
	MaxNotes  = 10_000
	MaxTags   = 10
	MaxTag    = 32
	MaxText   = 2_000
	MaxReason = 1_000
	MaxPlan   = 64
)

// Pages of lists.
const (
	DefaultPage = 50
	MaxPage     = 200
)

type faults []FieldError

func (f *faults) addf(field, format string, args ...any) {
	*f = append(*f, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// text checks a required text.
func (f *faults) text(field, value string, most int) {
	if strings.TrimSpace(value) == "" {
		f.addf(field, "must not be blank")
		return
	}
	f.length(field, value, most)
}

// length checks a text that may be empty. NUL is refused because PostgreSQL cannot hold it.
func (f *faults) length(field, value string, most int) {
	if n := utf8.RuneCountInString(value); n > most {
		f.addf(field, "must have at most %d characters, has %d", most, n)
	}
	if strings.ContainsRune(value, 0) {
		f.addf(field, "must not contain the NUL character")
	}
}

func (f *faults) priority(value Priority) {
	if !slices.Contains(Priorities(), value) {
		f.addf("priority", "must be one of none, low, medium, high")
	}
}

func (f *faults) tags(tags []string) {
	if len(tags) > MaxTags {
		f.addf("tags", "must have at most %d items, has %d", MaxTags, len(tags))
		return
	}
	for i, tag := range tags {
		field := fmt.Sprintf("tags[%d]", i)
		f.text(field, tag, MaxTag)
		if slices.Index(tags, tag) < i {
			f.addf(field, "must not repeat %q", tag)
		}
	}
}

// Validate returns every broken rule.
func (t TaskCreate) Validate() []FieldError {
	var f faults
	f.text("title", t.Title, MaxTitle)
	f.length("notes", t.Notes, MaxNotes)
	if t.Priority != "" {
		f.priority(t.Priority)
	}
	f.tags(t.Tags)
	return f
}

// Validate returns every broken rule. Title and done cannot be cleared; a cleared priority is none, cleared notes and tags are empty.
func (t TaskUpdate) Validate() []FieldError {
	var f faults
	if t.Title.Null {
		f.addf("title", "must not be null")
	}
	if t.Title.Set && !t.Title.Null {
		f.text("title", t.Title.Value, MaxTitle)
	}
	f.length("notes", t.Notes.Value, MaxNotes)
	if t.Priority.Set && !t.Priority.Null {
		f.priority(t.Priority.Value)
	}
	f.tags(t.Tags.Value)
	if t.Done.Null {
		f.addf("done", "must not be null")
	}
	return f
}

// Validate returns every broken rule.
func (p ParseRequest) Validate() []FieldError {
	var f faults
	f.text("text", p.Text, MaxText)
	if _, err := p.Location(); err != nil {
		f.addf("timezone", `must be an IANA time zone such as "Europe/Berlin"`)
	}
	return f
}

// Location returns the request's time zone. "Local" is refused: it would be the server's own.
func (p ParseRequest) Location() (*time.Location, error) {
	if p.Timezone == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", p.Timezone)
	}
	return time.LoadLocation(p.Timezone)
}

// Validate returns every broken rule.
func (r ReportCreate) Validate() []FieldError {
	var f faults
	if !IsID(r.TaskID) {
		f.addf("taskId", "must be the id of a task")
	}
	f.text("reason", r.Reason, MaxReason)
	return f
}

// Validate returns every broken rule. Which plans there are is the database's to say.
func (p PlanChange) Validate() []FieldError {
	var f faults
	f.text("plan", p.Plan, MaxPlan)
	f.text("reason", p.Reason, MaxReason)
	return f
}

// Validate returns every broken rule.
func (r Revocation) Validate() []FieldError {
	var f faults
	f.text("reason", r.Reason, MaxReason)
	return f
}

// Validate returns the broken rules of the body alone. What the budget allows needs the budget.
func (o OverridePut) Validate() []FieldError {
	var f faults
	switch {
	case o.Limit == nil && !o.Unlimited:
		f.addf("limit", "must be given, or unlimited must be true")
	case o.Limit != nil && o.Unlimited:
		f.addf("unlimited", "must not be given together with limit")
	case o.Limit != nil && *o.Limit < 0:
		f.addf("limit", "must not be negative; 0 denies everything")
	}
	if o.RefillPerSecond != nil && *o.RefillPerSecond < 1 {
		f.addf("refillPerSecond", "must be at least 1")
	}
	f.text("reason", o.Reason, MaxReason)
	return f
}

// CheckReason returns the broken rules of a reason in a query, which may be absent.
func CheckReason(reason string) []FieldError {
	var f faults
	f.length("reason", reason, MaxReason)
	return f
}

// IsID says whether text has the one form that ids have: a lower-case UUID with hyphens.
func IsID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if hyphen && c != '-' || !hyphen && !hex {
			return false
		}
	}
	return true
}
