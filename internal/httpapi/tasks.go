package httpapi

import (
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

// tasksList answers a page of the organisation's tasks. It asks for one more than it shows, to know whether more follow.
func (s *Server) tasksList(c *call) error {
	query, err := c.query()
	if err != nil {
		return err
	}
	filter, fields := taskFilter(query.Get("done"), query.Get("limit"), query.Get("cursor"))
	if err := invalid(fields); err != nil {
		return err
	}
	page := filter.Limit
	filter.Limit++
	tasks, err := s.Store.ListTasks(c.context(), c.caller.OrgID, filter)
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	list := api.TaskList{Items: make([]api.Task, 0, len(tasks))}
	if len(tasks) > page {
		tasks = tasks[:page]
		list.NextCursor = cursorOf(tasks[page-1])
	}
	for _, t := range tasks {
		list.Items = append(list.Items, taskBody(t))
	}
	return c.json(http.StatusOK, list)
}

func taskFilter(done, limit, cursor string) (store.TaskFilter, []api.FieldError) {
	filter := store.TaskFilter{Limit: api.DefaultPage}
	var faults []api.FieldError
	add := func(field, message string) { faults = append(faults, api.FieldError{Field: field, Message: message}) }
	switch done {
	case "":
	case "true", "false":
		only := done == "true"
		filter.Done = &only
	default:
		add("done", "must be true or false")
	}
	if limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > api.MaxPage {
			add("limit", fmt.Sprintf("must be a number from 1 to %d", api.MaxPage))
		}
		filter.Limit = n
	}
	if cursor != "" {
		after, err := readCursor(cursor)
		if err != nil {
			add("cursor", "must be the nextCursor of the page before")
		}
		filter.After = after
	}
	return filter, faults
}

// cursorOf names a task's place in the list: its time and its id, which together are unique.
func cursorOf(t store.Task) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(t.CreatedAt.UnixMilli(), 10) + "." + t.ID.String()))
}

func readCursor(text string) (*store.TaskCursor, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("decode cursor: %w", err)
	}
	at, id, _ := strings.Cut(string(data), ".")
	milli, err := strconv.ParseInt(at, 10, 64)
	if err != nil || milli < 0 || milli > lastMilli {
		return nil, fmt.Errorf("read time of cursor %q", at)
	}
	taskID, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("read id of cursor: %w", err)
	}
	return &store.TaskCursor{CreatedAt: time.UnixMilli(milli).UTC(), ID: taskID}, nil
}

// lastMilli is the end of the year 9999, beyond which a time has no RFC 3339 form.
const lastMilli = 253_402_300_799_999

func (s *Server) tasksGet(c *call) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	task, err := s.Store.Task(c.context(), c.caller.OrgID, id)
	if err != nil {
		return fmt.Errorf("get task: %w", err)
	}
	return c.json(http.StatusOK, taskBody(task))
}

func (s *Server) tasksCreate(c *call) error {
	in, err := decode[api.TaskCreate](c)
	if err != nil {
		return err
	}
	task, err := s.Store.CreateTask(c.context(), newTask(c, in))
	if err != nil {
		return fmt.Errorf("create task: %w", err)
	}
	answer, err := taskCreated(task)
	return s.reply(c, answer, err)
}

func taskCreated(t store.Task) (store.Answer, error) {
	return jsonAnswer(http.StatusCreated, taskURL(t.ID), taskBody(t))
}

func taskURL(id uuid.UUID) string {
	route, _ := api.RouteByID(api.RouteTasksGet)
	return route.URL(id.String())
}

func newTask(c *call, in api.TaskCreate) store.NewTask {
	t := store.NewTask{
		OrgID: c.caller.OrgID, CreatedBy: c.caller.UserID,
		Title: in.Title, Notes: in.Notes, Priority: string(in.Priority), Tags: in.Tags, Done: in.Done,
		Keep: keep(c, taskCreated),
	}
	if t.Priority == "" {
		t.Priority = string(api.PriorityNone)
	}
	if in.DueAt != nil {
		t.DueAt = &in.DueAt.Time
	}
	return t
}

func (s *Server) tasksUpdate(c *call) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	in, err := decode[api.TaskUpdate](c)
	if err != nil {
		return err
	}
	task, err := s.Store.UpdateTask(c.context(), c.caller.OrgID, id, taskChange(in))
	if err != nil {
		return fmt.Errorf("update task: %w", err)
	}
	return c.json(http.StatusOK, taskBody(task))
}

// taskChange turns a merge patch into a change: absent keeps, null clears.
func taskChange(in api.TaskUpdate) store.TaskChange {
	change := store.TaskChange{
		Title: valueOf(in.Title), Notes: valueOf(in.Notes), Tags: valueOf(in.Tags), Done: valueOf(in.Done),
		SetDueAt: in.DueAt.Set,
	}
	if in.DueAt.Set && !in.DueAt.Null {
		change.DueAt = &in.DueAt.Value.Time
	}
	if in.Priority.Set {
		priority := string(in.Priority.Value)
		if in.Priority.Null {
			priority = string(api.PriorityNone)
		}
		change.Priority = &priority
	}
	return change
}

// valueOf is nil for an absent field, and the zero value for a cleared one.
func valueOf[T any](o api.Optional[T]) *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

func (s *Server) tasksDelete(c *call) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	if err := s.Store.DeleteTask(c.context(), c.caller.OrgID, id); err != nil {
		return fmt.Errorf("delete task: %w", err)
	}
	return c.noContent()
}

func taskBody(t store.Task) api.Task {
	body := api.Task{
		ID: t.ID.String(), Title: t.Title, Notes: t.Notes, DueAt: api.NewTimePtr(t.DueAt), Priority: api.Priority(t.Priority),
		Tags: t.Tags, Done: t.Done, CreatedAt: api.NewTime(t.CreatedAt), UpdatedAt: api.NewTime(t.UpdatedAt),
	}
	if body.Tags == nil {
		body.Tags = []string{}
	}
	if t.CreatedBy != nil {
		by := t.CreatedBy.String()
		body.CreatedBy = &by
	}
	return body
}

// exportColumns are the columns of the CSV, in order.
func exportColumns() []string {
	return []string{"id", "title", "notes", "dueAt", "priority", "tags", "done", "createdBy", "createdAt", "updatedAt"}
}

// tasksExport streams all of the organisation's tasks as CSV (RFC 4180). The headers go out with the first row, so a
// database that fails before it still answers with an error; one that fails later cuts the connection, because a
// shorter file would look whole.
func (s *Server) tasksExport(c *call) error {
	rows := csv.NewWriter(c.writer())
	rows.UseCRLF = true
	begun := false
	begin := func() error {
		begun = true
		c.gin.Header("Content-Type", "text/csv; charset=utf-8")
		c.gin.Header("Content-Disposition", `attachment; filename="tasks.csv"`)
		return rows.Write(exportColumns())
	}
	err := s.Store.EachTask(c.context(), c.caller.OrgID, func(t store.Task) error {
		if !begun {
			if err := begin(); err != nil {
				return err
			}
		}
		return rows.Write(exportRow(t))
	})
	if err == nil && !begun {
		err = begin()
	}
	rows.Flush()
	if err == nil {
		err = rows.Error()
	}
	if err != nil && c.gin.Writer.Written() {
		c.cause = err
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		return fmt.Errorf("export tasks: %w", err)
	}
	return nil
}

func exportRow(t store.Task) []string {
	due, by := "", ""
	if t.DueAt != nil {
		due = t.DueAt.UTC().Format(api.TimeLayout)
	}
	if t.CreatedBy != nil {
		by = t.CreatedBy.String()
	}
	return []string{
		t.ID.String(), cell(t.Title), cell(t.Notes), due, t.Priority, cell(strings.Join(t.Tags, " ")), strconv.FormatBool(t.Done),
		by, t.CreatedAt.UTC().Format(api.TimeLayout), t.UpdatedAt.UTC().Format(api.TimeLayout),
	}
}

// cell puts an apostrophe before text that a spreadsheet would run as a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
