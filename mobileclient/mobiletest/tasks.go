package mobiletest

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/gatehouse/api"
)

func (s *Server) taskHandlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		api.RouteTasksList:     s.listTasks,
		api.RouteTasksGet:      s.getTask,
		api.RouteTasksCreate:   s.createTask,
		api.RouteTasksUpdate:   s.updateTask,
		api.RouteTasksDelete:   s.deleteTask,
		api.RouteTasksParse:    s.parse,
		api.RouteTasksExport:   s.export,
		api.RouteReportsCreate: s.createReport,
	}
}

// listTasks takes as its cursor the id of the last task of the page before.
func (s *Server) listTasks(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = api.DefaultPage
	}
	page := api.TaskList{Items: []api.Task{}}
	cursor := query.Get("cursor")
	for _, t := range s.newestFirst() {
		if done := query.Get("done"); done != "" && done != strconv.FormatBool(t.Done) || cursor != "" && t.ID >= cursor {
			continue
		}
		if len(page.Items) == limit {
			page.NextCursor = page.Items[limit-1].ID
			break
		}
		page.Items = append(page.Items, t)
	}
	ok(w, http.StatusOK, page)
}

func (s *Server) newestFirst() []api.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	tasks := slices.Clone(s.tasks)
	slices.Reverse(tasks)
	return tasks
}

func (s *Server) getTask(w http.ResponseWriter, r *http.Request) {
	s.withTask(w, r, func(t *api.Task) api.Task { return *t })
}

// withTask answers with what becomes of a task.
func (s *Server) withTask(w http.ResponseWriter, r *http.Request, do func(*api.Task) api.Task) {
	s.mu.Lock()
	i := s.indexOf(r.PathValue("id"))
	if i < 0 {
		s.mu.Unlock()
		refuse(w, r, api.NewProblem(api.CodeNotFound, ""))
		return
	}
	task := do(&s.tasks[i])
	s.mu.Unlock()
	ok(w, http.StatusOK, task)
}

func (s *Server) indexOf(id string) int {
	return slices.IndexFunc(s.tasks, func(t api.Task) bool { return t.ID == id })
}

func (s *Server) createTask(w http.ResponseWriter, r *http.Request) {
	body, fine := decode[api.TaskCreate](w, r)
	if !fine {
		return
	}
	person := personOf(bearer(r))
	s.mu.Lock()
	at := api.NewTime(s.began.Add(s.now()))
	task := api.Task{
		ID: s.nextID(), Title: body.Title, Notes: body.Notes, DueAt: body.DueAt, Priority: body.Priority, Tags: body.Tags, Done: body.Done,
		CreatedBy: &person, CreatedAt: at, UpdatedAt: at,
	}
	fillIn(&task)
	s.tasks = append(s.tasks, task)
	s.mu.Unlock()
	w.Header().Set("Location", r.URL.Path+"/"+task.ID)
	ok(w, http.StatusCreated, task)
}

func fillIn(t *api.Task) {
	if t.Priority == "" {
		t.Priority = api.PriorityNone
	}
	if t.Tags == nil {
		t.Tags = []string{}
	}
}

func (s *Server) updateTask(w http.ResponseWriter, r *http.Request) {
	body, fine := decode[api.TaskUpdate](w, r)
	if !fine {
		return
	}
	s.withTask(w, r, func(t *api.Task) api.Task {
		set(&t.Title, body.Title)
		set(&t.Notes, body.Notes)
		set(&t.Priority, body.Priority)
		set(&t.Tags, body.Tags)
		set(&t.Done, body.Done)
		if body.DueAt.Set {
			t.DueAt = &body.DueAt.Value
			if body.DueAt.Null {
				t.DueAt = nil
			}
		}
		fillIn(t)
		t.UpdatedAt = api.NewTime(s.began.Add(s.now()))
		return *t
	})
}

func set[T any](field *T, change api.Optional[T]) {
	if change.Set {
		*field = change.Value
	}
}

func (s *Server) deleteTask(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	i := s.indexOf(r.PathValue("id"))
	if i >= 0 {
		s.tasks = slices.Delete(s.tasks, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		refuse(w, r, api.NewProblem(api.CodeNotFound, ""))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// parse makes a draft of each line, and understands nothing.
func (s *Server) parse(w http.ResponseWriter, r *http.Request) {
	body, fine := decode[api.ParseRequest](w, r)
	if !fine {
		return
	}
	result := api.ParseResult{Parser: "local", Drafts: []api.Draft{}}
	for line := range strings.Lines(body.Text) {
		if title := strings.TrimSpace(line); title != "" {
			result.Drafts = append(result.Drafts, api.Draft{Title: title, Priority: api.PriorityNone, Tags: []string{}, Spans: []api.Span{}})
		}
	}
	ok(w, http.StatusOK, result)
}

func (s *Server) export(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="tasks.csv"`)
	rows := csv.NewWriter(w)
	rows.UseCRLF = true
	_ = rows.Write([]string{"id", "title", "notes", "dueAt", "priority", "tags", "done", "createdBy", "createdAt", "updatedAt"})
	for _, t := range s.newestFirst() {
		_ = rows.Write([]string{
			t.ID, t.Title, t.Notes, formatTime(t.DueAt), string(t.Priority), strings.Join(t.Tags, " "), strconv.FormatBool(t.Done),
			*t.CreatedBy, formatTime(&t.CreatedAt), formatTime(&t.UpdatedAt),
		})
	}
	rows.Flush()
}

func formatTime(t *api.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(api.TimeLayout)
}

func (s *Server) createReport(w http.ResponseWriter, r *http.Request) {
	body, fine := decode[api.ReportCreate](w, r)
	if !fine {
		return
	}
	s.mu.Lock()
	found, id, at := s.indexOf(body.TaskID) >= 0, s.nextID(), s.began.Add(s.now())
	s.mu.Unlock()
	if !found {
		refuse(w, r, api.NewProblem(api.CodeNotFound, ""))
		return
	}
	ok(w, http.StatusCreated, api.Report{ID: id, TaskID: body.TaskID, Reason: body.Reason, CreatedAt: api.NewTime(at.Truncate(time.Millisecond))})
}

// nextID makes ids that sort by age. The caller has the lock.
func (s *Server) nextID() string {
	s.serial++
	return fmt.Sprintf("0198c0de-0000-7000-8000-%012d", s.serial)
}
