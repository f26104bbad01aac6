package bind

import (
	"io"
	"slices"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// Task is a thing to do.
type Task struct {
	ID, Title, Notes string
	// DueAtMillis is 0 where the task has no date.
	DueAtMillis int64
	// Priority is none, low, medium or high.
	Priority string
	Done     bool
	// CreatedBy is a user's id; empty once that person's data was removed.
	CreatedBy       string
	CreatedAtMillis int64
	UpdatedAtMillis int64

	tags []string
}

// TagCount is how many tags the task has.
func (t *Task) TagCount() int { return len(t.tags) }

// TagAt is one of them.
func (t *Task) TagAt(i int) string { return at(t.tags, i) }

func newTask(t api.Task) *Task {
	task := &Task{
		ID: t.ID, Title: t.Title, Notes: t.Notes, DueAtMillis: millisOf(t.DueAt), Priority: string(t.Priority), Done: t.Done,
		CreatedAtMillis: t.CreatedAt.UnixMilli(), UpdatedAtMillis: t.UpdatedAt.UnixMilli(), tags: t.Tags,
	}
	if t.CreatedBy != nil {
		task.CreatedBy = *t.CreatedBy
	}
	return task
}

func millisOf(t *api.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(millis int64) *api.Time {
	if millis == 0 {
		return nil
	}
	t := api.NewTime(time.UnixMilli(millis))
	return &t
}

// TaskQuery chooses a page of tasks.
type TaskQuery struct {
	// OnlyDone and OnlyOpen choose; neither chooses all.
	OnlyDone, OnlyOpen bool
	// Limit is the items a page; 0 leaves it to the server.
	Limit int
	// Cursor is NextCursor of the page before.
	Cursor string
}

// NewTaskQuery is the first page of all tasks.
func NewTaskQuery() *TaskQuery { return &TaskQuery{} }

func (q *TaskQuery) query() mobileclient.TaskQuery {
	if q == nil {
		return mobileclient.TaskQuery{}
	}
	query := mobileclient.TaskQuery{Limit: q.Limit, Cursor: q.Cursor}
	if q.OnlyDone != q.OnlyOpen {
		query.Done = &q.OnlyDone
	}
	return query
}

// TaskPage is a page of tasks, newest first.
type TaskPage struct {
	// NextCursor is empty at the end.
	NextCursor string

	items []api.Task
}

// Len is how many tasks the page has.
func (p *TaskPage) Len() int { return len(p.items) }

// At is one of them; null beyond the last.
func (p *TaskPage) At(i int) *Task {
	item := pointerAt(p.items, i)
	if item == nil {
		return nil
	}
	return newTask(*item)
}

// Tasks returns one page of the organisation's tasks.
func (c *Client) Tasks(call *Call, q *TaskQuery) (page *TaskPage, err error) {
	defer recovered(&err)
	list, err := c.sdk.Tasks(call.context(), q.query(), call.options()...)
	if err != nil {
		return nil, err
	}
	return &TaskPage{NextCursor: list.NextCursor, items: list.Items}, nil
}

// Task returns one task.
func (c *Client) Task(call *Call, id string) (task *Task, err error) {
	defer recovered(&err)
	t, err := c.sdk.Task(call.context(), id, call.options()...)
	if err != nil {
		return nil, err
	}
	return newTask(t), nil
}

// TaskDraft is a task to be created.
type TaskDraft struct {
	Title, Notes string
	DueAtMillis  int64
	Priority     string
	Done         bool

	tags []string
}

// NewTaskDraft begins a task.
func NewTaskDraft(title string) *TaskDraft { return &TaskDraft{Title: title} }

// AddTag adds a tag.
func (d *TaskDraft) AddTag(tag string) { d.tags = append(d.tags, tag) }

// CreateTask creates a task.
func (c *Client) CreateTask(call *Call, d *TaskDraft) (task *Task, err error) {
	defer recovered(&err)
	t, err := c.sdk.CreateTask(call.context(), api.TaskCreate{
		Title: d.Title, Notes: d.Notes, DueAt: timeOf(d.DueAtMillis), Priority: api.Priority(d.Priority), Tags: slices.Clone(d.tags), Done: d.Done,
	}, call.options()...)
	if err != nil {
		return nil, err
	}
	return newTask(t), nil
}

// TaskChange is what is to change of a task: only what was set.
type TaskChange struct{ update api.TaskUpdate }

// NewTaskChange changes nothing yet.
func NewTaskChange() *TaskChange { return &TaskChange{} }

// SetTitle changes the title.
func (u *TaskChange) SetTitle(title string) { u.update.Title = api.Some(title) }

// SetNotes changes the notes.
func (u *TaskChange) SetNotes(notes string) { u.update.Notes = api.Some(notes) }

// SetPriority changes the priority.
func (u *TaskChange) SetPriority(priority string) {
	u.update.Priority = api.Some(api.Priority(priority))
}

// SetDone changes whether the task is done.
func (u *TaskChange) SetDone(done bool) { u.update.Done = api.Some(done) }

// SetDueAtMillis changes the date; 0 takes it away.
func (u *TaskChange) SetDueAtMillis(millis int64) {
	u.update.DueAt = api.Clear[api.Time]()
	if at := timeOf(millis); at != nil {
		u.update.DueAt = api.Some(*at)
	}
}

// ClearTags takes all tags away; AddTag then begins a new list.
func (u *TaskChange) ClearTags() { u.update.Tags = api.Some([]string{}) }

// AddTag makes the tag one of those that the task shall have instead of its present ones.
func (u *TaskChange) AddTag(tag string) { u.update.Tags = api.Some(append(u.update.Tags.Value, tag)) }

// UpdateTask changes a task.
func (c *Client) UpdateTask(call *Call, id string, u *TaskChange) (task *Task, err error) {
	defer recovered(&err)
	t, err := c.sdk.UpdateTask(call.context(), id, u.update, call.options()...)
	if err != nil {
		return nil, err
	}
	return newTask(t), nil
}

// DeleteTask deletes a task.
func (c *Client) DeleteTask(call *Call, id string) (err error) {
	defer recovered(&err)
	return c.sdk.DeleteTask(call.context(), id, call.options()...)
}

// Export returns all of the organisation's tasks as CSV.
func (c *Client) Export(call *Call) (csv []byte, err error) {
	defer recovered(&err)
	stream, err := c.sdk.Export(call.context(), call.options()...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	return io.ReadAll(stream)
}
