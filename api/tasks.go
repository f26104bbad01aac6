package api

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The ids of the routes of tasks.
const (
	RouteTasksList   = "tasks.list"
	RouteTasksGet    = "tasks.get"
	RouteTasksCreate = "tasks.create"
	RouteTasksUpdate = "tasks.update"
	RouteTasksDelete = "tasks.delete"
	RouteTasksParse  = "tasks.parse"
	RouteTasksExport = "tasks.export"
)

// The rules of tasks. Lengths of text are in characters (Unicode code points).
const (
	MaxTitle = 200
	MaxNotes = 10_000
	MaxTags  = 10
	MaxTag   = 32
	MaxText  = 2_000
)

func taskRoutes() []Route {
	const tasks = BasePath + "/tasks"
	write := []string{"tasks.write"}
	return []Route{
		{
			ID: RouteTasksList, Method: http.MethodGet, Path: tasks, Response: TaskList{}, Status: http.StatusOK,
			Query: append([]Param{
				{Name: "done", Type: "boolean", Why: "Only finished, or only open, tasks."},
			}, paging()...),
			Summary: "The organisation's tasks, newest first.",
		},
		{
			ID: RouteTasksCreate, Method: http.MethodPost, Path: tasks, Budgets: write, Request: TaskCreate{}, Response: Task{}, Status: http.StatusCreated,
			TakesKey: true, Summary: "Creates a task.",
		},
		{
			ID: RouteTasksParse, Method: http.MethodPost, Path: tasks + "/parse", Budgets: []string{"tasks.parse", "tasks.parse.burst", BudgetTokens},
			Request: ParseRequest{}, Response: ParseResult{}, Status: http.StatusOK,
			TakesKey: true, Summary: "Turns free text into task drafts. Saves nothing.",
		},
		{
			ID: RouteTasksExport, Method: http.MethodGet, Path: tasks + "/export", Budgets: []string{"tasks.export"}, Status: http.StatusOK,
			ContentType: "text/csv", NoHead: true, Summary: "All of the organisation's tasks as CSV.",
		},
		{
			ID: RouteTasksGet, Method: http.MethodGet, Path: tasks + "/{id}", Response: Task{}, Status: http.StatusOK,
			Summary: "One task.",
		},
		{
			ID: RouteTasksUpdate, Method: http.MethodPatch, Path: tasks + "/{id}", Budgets: write, Request: TaskUpdate{}, Response: Task{}, Status: http.StatusOK,
			Summary: "Changes the fields given; an absent field keeps its value, null clears it.",
		},
		{
			ID: RouteTasksDelete, Method: http.MethodDelete, Path: tasks + "/{id}", Budgets: write, Status: http.StatusNoContent,
			Summary: "Deletes a task.",
		},
	}
}

// Priority is how much a task matters.
type Priority string

// The priorities, least first.
const (
	PriorityNone   Priority = "none"
	PriorityLow    Priority = "low"
	PriorityMedium Priority = "medium"
	PriorityHigh   Priority = "high"
)

// Priorities returns all of them, least first.
func Priorities() []Priority {
	return []Priority{PriorityNone, PriorityLow, PriorityMedium, PriorityHigh}
}

// Task is a thing to do. It belongs to an organisation, whose members see and edit it.
type Task struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Notes    string   `json:"notes"`
	DueAt    *Time    `json:"dueAt"`
	Priority Priority `json:"priority"`
	Tags     []string `json:"tags"`
	Done     bool     `json:"done"`
	// CreatedBy is the id of a user; null once that person's data was removed.
	CreatedBy *string `json:"createdBy"`
	CreatedAt Time    `json:"createdAt"`
	UpdatedAt Time    `json:"updatedAt"`
}

// TaskList is a page of tasks, newest first.
type TaskList struct {
	Items []Task `json:"items"`
	// NextCursor is absent at the end.
	NextCursor string `json:"nextCursor,omitempty"`
}

// TaskCreate is the body of tasks.create. Only the title is required.
type TaskCreate struct {
	Title    string   `json:"title"`
	Notes    string   `json:"notes,omitempty"`
	DueAt    *Time    `json:"dueAt,omitempty"`
	Priority Priority `json:"priority,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Done     bool     `json:"done,omitempty"`
}

// TaskUpdate is the body of tasks.update: an absent field keeps its value, null clears it.
type TaskUpdate struct {
	Title    Optional[string]   `json:"title,omitzero"`
	Notes    Optional[string]   `json:"notes,omitzero"`
	DueAt    Optional[Time]     `json:"dueAt,omitzero"`
	Priority Optional[Priority] `json:"priority,omitzero"`
	Tags     Optional[[]string] `json:"tags,omitzero"`
	Done     Optional[bool]     `json:"done,omitzero"`
}

// ParseRequest is the body of tasks.parse.
type ParseRequest struct {
	Text string `json:"text"`
	// Timezone is an IANA name, which dates and times in the text are read in; UTC if absent.
	Timezone string `json:"timezone,omitempty"`
}

// ParseResult is what was understood of a text.
type ParseResult struct {
	// Parser is "local" or "model".
	Parser string  `json:"parser"`
	Drafts []Draft `json:"drafts"`
}

// Draft is a task that is not saved yet.
type Draft struct {
	Title    string   `json:"title"`
	Notes    string   `json:"notes"`
	DueAt    *Time    `json:"dueAt"`
	Priority Priority `json:"priority"`
	Tags     []string `json:"tags"`
	Spans    []Span   `json:"spans"`
}

// Span is a part of the text, half open, in UTF-16 code units, and what it was taken for.
type Span struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"`
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
