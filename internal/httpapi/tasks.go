package httpapi

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

func (s *Server) taskHandlers() map[string]handler {
	return map[string]handler{
		api.RouteTasksList:   s.tasksList,
		api.RouteTasksGet:    s.tasksGet,
		api.RouteTasksCreate: s.tasksCreate,
		api.RouteTasksUpdate: s.tasksUpdate,
		api.RouteTasksDelete: s.tasksDelete,
		api.RouteTasksParse:  s.tasksParse,
		api.RouteTasksExport: s.tasksExport,
	}
}

// tasksList answers a page of the organisation's tasks.
func (s *Server) tasksList(c *call) error {
	query, err := c.query()
	if err != nil {
		return err
	}
	p, fields := page(query)
	done, fault := doneFilter(query.Get("done"))
	if fault != nil {
		fields = append([]api.FieldError{*fault}, fields...)
	}
	if err := invalid(fields); err != nil {
		return err
	}
	tasks, err := s.Store.ListTasks(c.context(), c.caller.OrgID, store.TaskFilter{Done: done, After: p.After, Limit: more(p).Limit})
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	tasks, next := cut(tasks, p, func(t store.Task) store.Cursor { return store.Cursor{CreatedAt: t.CreatedAt, ID: t.ID} })
	return c.json(http.StatusOK, api.TaskList{Items: bodies(tasks, taskBody), NextCursor: next})
}

func doneFilter(text string) (*bool, *api.FieldError) {
	switch text {
	case "":
		return nil, nil //nolint:nilnil // Neither a filter nor a fault.
	case "true", "false":
		done := text == "true"
		return &done, nil
	}
	return nil, &api.FieldError{Field: "done", Message: "must be true or false"}
}

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
		c.note(err)
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
