package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// exportPage is how many tasks EachTask holds at once: a few megabytes at the largest, a few milliseconds to read.
const exportPage = 200

// A Task belongs to an organisation.
type Task struct {
	ID, OrgID    uuid.UUID
	Title, Notes string
	DueAt        *time.Time
	Priority     string // none, low, medium or high
	Tags         []string
	Done         bool
	// CreatedBy is nil once its author has deleted their account.
	CreatedBy            *uuid.UUID
	CreatedAt, UpdatedAt time.Time
}

// A TaskFilter chooses a page of tasks.
type TaskFilter struct {
	// Done, if not nil, keeps those that are done, or those that are not.
	Done *bool
	// After is the last task of the page before; nil begins at the newest.
	After *Cursor
	// Limit is the most to return, at least 1.
	Limit int
}

// A NewTask is a task to make. Its fields have been validated.
type NewTask struct {
	OrgID, CreatedBy uuid.UUID
	Title, Notes     string
	DueAt            *time.Time
	Priority         string
	Tags             []string
	Done             bool
	// Keep, if not nil, keeps the answer that tells of the task.
	Keep *Keep[Task]
}

// A TaskChange says what to change of a task: nil keeps.
type TaskChange struct {
	Title, Notes *string
	// DueAt counts if SetDueAt is true; nil then clears it.
	DueAt    *time.Time
	SetDueAt bool
	Priority *string
	Tags     *[]string
	Done     *bool
}

// ListTasks returns a page of an organisation's tasks, newest first.
func (s *Store) ListTasks(ctx context.Context, orgID uuid.UUID, f TaskFilter) ([]Task, error) {
	rows, err := one(ctx, s, "list tasks", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.Task, error) {
		page := f.params(orgID)
		if f.Done == nil {
			return q.ListTasks(ctx, page)
		}
		return q.ListTasksByDone(ctx, dbgen.ListTasksByDoneParams{
			OrganisationID: orgID, Done: *f.Done, BeforeAt: page.BeforeAt, BeforeID: page.BeforeID, PageSize: page.PageSize,
		})
	})
	tasks := make([]Task, len(rows))
	for i, row := range rows {
		tasks[i] = taskOf(row)
	}
	return tasks, err
}

func (f TaskFilter) params(orgID uuid.UUID) dbgen.ListTasksParams {
	before, size := Page{After: f.After, Limit: f.Limit}.params()
	return dbgen.ListTasksParams{OrganisationID: orgID, BeforeAt: before.CreatedAt, BeforeID: before.ID, PageSize: size}
}

// EachTask calls visit with every task of an organisation, newest first, until it returns an error, which EachTask
// wraps. It reads page by page and holds no connection meanwhile, so visit may be as slow as the slowest client. A
// task that exists all the while is visited once.
func (s *Store) EachTask(ctx context.Context, orgID uuid.UUID, visit func(Task) error) error {
	filter := TaskFilter{Limit: exportPage}
	for {
		page, err := s.ListTasks(ctx, orgID, filter)
		if err != nil {
			return err
		}
		for _, task := range page {
			if err := visit(task); err != nil {
				return err
			}
		}
		if len(page) < exportPage {
			return nil
		}
		last := page[len(page)-1]
		filter.After = &Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// Task reads an organisation's task, or ErrNotFound.
func (s *Store) Task(ctx context.Context, orgID, id uuid.UUID) (Task, error) {
	return oneTask(ctx, s, "read task", func(ctx context.Context, q *dbgen.Queries) (dbgen.Task, error) {
		return q.Task(ctx, dbgen.TaskParams{OrganisationID: orgID, ID: id})
	})
}

// CreateTask makes a task. ErrNotFound: the organisation or the user is gone. ErrKeyAtWork: its claim was lost.
func (s *Store) CreateTask(ctx context.Context, n NewTask) (Task, error) {
	return writing(ctx, s, "make task", n.Keep, func(ctx context.Context, q *dbgen.Queries) (Task, error) {
		row, err := q.CreateTask(ctx, n.params())
		return taskOf(row), err
	})
}

func (n NewTask) params() dbgen.CreateTaskParams {
	p := dbgen.CreateTaskParams{
		ID: newID(), OrganisationID: n.OrgID, Title: n.Title, Notes: n.Notes, DueAt: utcOrNil(n.DueAt),
		Priority: n.Priority, Tags: list(n.Tags), Done: n.Done,
	}
	if n.CreatedBy != uuid.Nil {
		p.CreatedBy = &n.CreatedBy
	}
	return p
}

// UpdateTask changes an organisation's task and returns it as it is now, or ErrNotFound. A change of nothing leaves its
// UpdatedAt too.
func (s *Store) UpdateTask(ctx context.Context, orgID, id uuid.UUID, c TaskChange) (Task, error) {
	if c == (TaskChange{}) {
		return s.Task(ctx, orgID, id)
	}
	return oneTask(ctx, s, "change task", func(ctx context.Context, q *dbgen.Queries) (dbgen.Task, error) {
		return q.UpdateTask(ctx, c.params(orgID, id))
	})
}

func (c TaskChange) params(orgID, id uuid.UUID) dbgen.UpdateTaskParams {
	p := dbgen.UpdateTaskParams{
		OrganisationID: orgID, ID: id, Title: c.Title, Notes: c.Notes, SetDueAt: c.SetDueAt, DueAt: utcOrNil(c.DueAt),
		Priority: c.Priority, Done: c.Done,
	}
	if c.Tags != nil {
		p.Tags = list(*c.Tags)
	}
	return p
}

// DeleteTask deletes an organisation's task, or ErrNotFound.
func (s *Store) DeleteTask(ctx context.Context, orgID, id uuid.UUID) error {
	return do(ctx, s, "delete task", func(ctx context.Context, q *dbgen.Queries) error {
		return found(q.DeleteTask(ctx, dbgen.DeleteTaskParams{OrganisationID: orgID, ID: id}))
	})
}

func oneTask(ctx context.Context, s *Store, doing string, run func(context.Context, *dbgen.Queries) (dbgen.Task, error)) (Task, error) {
	row, err := one(ctx, s, doing, run)
	if err != nil {
		return Task{}, err
	}
	return taskOf(row), nil
}

func taskOf(row dbgen.Task) Task {
	return Task{
		ID: row.ID, OrgID: row.OrganisationID, Title: row.Title, Notes: row.Notes, DueAt: utcOrNil(row.DueAt),
		Priority: row.Priority, Tags: row.Tags, Done: row.Done, CreatedBy: row.CreatedBy,
		CreatedAt: utc(row.CreatedAt), UpdatedAt: utc(row.UpdatedAt),
	}
}
