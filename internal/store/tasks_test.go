package store_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func newTask(m store.Member) store.NewTask {
	due := time.Date(2031, 2, 3, 4, 5, 6, 789_654_321, time.FixedZone("CET", 3600))
	return store.NewTask{
		OrgID: m.OrgID, CreatedBy: m.UserID, Title: "Buy milk", Notes: "two litres", DueAt: &due, Priority: "high",
		Tags: []string{"home", "shop"},
	}
}

func TestCreateTask(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	got := must(s.CreateTask(t.Context(), newTask(member)))(t)
	due := time.Date(2031, 2, 3, 3, 5, 6, 789_000_000, time.UTC)
	want := store.Task{
		ID: got.ID, OrgID: member.OrgID, Title: "Buy milk", Notes: "two litres", DueAt: &due, Priority: "high",
		Tags: []string{"home", "shop"}, CreatedBy: &member.UserID, CreatedAt: got.CreatedAt, UpdatedAt: got.CreatedAt,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("new task is %+v, want %+v", got, want)
	}
	if read := must(s.Task(t.Context(), member.OrgID, got.ID))(t); !reflect.DeepEqual(read, want) {
		t.Errorf("task is %+v, want %+v", read, want)
	}
}

func TestTaskTextsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	for _, text := range []string{
		"", "'; DROP TABLE tasks; --", "100% _ \\ \"quoted\"", "👩🏽‍🚀𝄞日本語", "one\r\ntwo\tthree", "\u202eright to left", strings.Repeat("𝄞", 10_000),
	} {
		in := newTask(member)
		in.Title, in.Notes, in.Tags = text, text, []string{text, `{a,"b"}`, "NULL"}
		got := must(s.CreateTask(t.Context(), in))(t)
		if got.Title != text || got.Notes != text || !slices.Equal(got.Tags, in.Tags) {
			t.Errorf("%.20q came back as %.20q, %.20q, %.60q", text, got.Title, got.Notes, got.Tags)
		}
	}
}

func TestCreateTaskFaults(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	tests := []struct {
		name   string
		change func(*store.NewTask)
		want   error
	}{
		{"no such organisation", func(n *store.NewTask) { n.OrgID = uuid.New() }, store.ErrNotFound},
		{"no such user", func(n *store.NewTask) { n.CreatedBy = uuid.New() }, store.ErrNotFound},
		{"no such priority", func(n *store.NewTask) { n.Priority = "urgent" }, store.ErrConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := newTask(member)
			tt.change(&in)
			_, err := s.CreateTask(t.Context(), in)
			wantErr(t, err, tt.want)
		})
	}
}

func TestUpdateTask(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	due := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		change store.TaskChange
		want   func(*store.Task)
	}{
		{"nothing", store.TaskChange{}, func(*store.Task) {}},
		{"title", store.TaskChange{Title: new("Milk")}, func(w *store.Task) { w.Title = "Milk" }},
		{"notes cleared", store.TaskChange{Notes: new("")}, func(w *store.Task) { w.Notes = "" }},
		{"due", store.TaskChange{DueAt: &due, SetDueAt: true}, func(w *store.Task) { w.DueAt = &due }},
		{"due cleared", store.TaskChange{SetDueAt: true}, func(w *store.Task) { w.DueAt = nil }},
		{"due without saying so", store.TaskChange{DueAt: &due}, func(*store.Task) {}},
		{"priority", store.TaskChange{Priority: new("low")}, func(w *store.Task) { w.Priority = "low" }},
		{"tags", store.TaskChange{Tags: &[]string{"x"}}, func(w *store.Task) { w.Tags = []string{"x"} }},
		{"tags cleared", store.TaskChange{Tags: new([]string)}, func(w *store.Task) { w.Tags = []string{} }},
		{"done", store.TaskChange{Done: new(true)}, func(w *store.Task) { w.Done = true }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := must(s.CreateTask(t.Context(), newTask(member)))(t)
			tt.want(&want)
			got := must(s.UpdateTask(t.Context(), member.OrgID, want.ID, tt.change))(t)
			if got.UpdatedAt.Before(want.UpdatedAt) || tt.change == (store.TaskChange{}) && !got.UpdatedAt.Equal(want.UpdatedAt) {
				t.Errorf("updated at %s, was %s", got.UpdatedAt, want.UpdatedAt)
			}
			want.UpdatedAt = got.UpdatedAt
			if !reflect.DeepEqual(got, want) {
				t.Errorf("task is %+v, want %+v", got, want)
			}
			if read := must(s.Task(t.Context(), member.OrgID, want.ID))(t); !reflect.DeepEqual(read, got) {
				t.Errorf("task reads as %+v, was returned as %+v", read, got)
			}
		})
	}
}

func TestUpdateTaskSaysWhen(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	task := must(s.CreateTask(t.Context(), newTask(member)))(t)
	execute(t, url, "UPDATE tasks SET created_at = created_at - interval '1 day', updated_at = updated_at - interval '1 day'")
	got := must(s.UpdateTask(t.Context(), member.OrgID, task.ID, store.TaskChange{Done: new(true)}))(t)
	if age := got.UpdatedAt.Sub(got.CreatedAt); age < 24*time.Hour {
		t.Errorf("updated %s after it was made, want a day", age)
	}
}

func TestTasksAreTheirOrganisations(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member, stranger := ensure(t, s, alice()), ensure(t, s, dave())
	task := must(s.CreateTask(t.Context(), newTask(member)))(t)
	for name, orgID := range map[string]uuid.UUID{"another organisation": stranger.OrgID, "no organisation": uuid.New()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Task(t.Context(), orgID, task.ID)
			wantErr(t, err, store.ErrNotFound)
			for _, change := range []store.TaskChange{{}, {Done: new(true)}} {
				_, err = s.UpdateTask(t.Context(), orgID, task.ID, change)
				wantErr(t, err, store.ErrNotFound)
			}
			wantErr(t, s.DeleteTask(t.Context(), orgID, task.ID), store.ErrNotFound)
			_, err = s.CreateReport(t.Context(), store.NewReport{OrgID: orgID, TaskID: task.ID, UserID: stranger.UserID, Reason: "x"})
			wantErr(t, err, store.ErrNotFound)
			if tasks := must(s.ListTasks(t.Context(), orgID, store.TaskFilter{Limit: 10}))(t); len(tasks) != 0 {
				t.Errorf("it lists %d tasks", len(tasks))
			}
		})
	}
	t.Cleanup(func() { // After the subtests.
		kept, err := s.Task(context.Background(), member.OrgID, task.ID)
		if err != nil || !reflect.DeepEqual(kept, task) {
			t.Errorf("the task is %+v (%v), was %+v", kept, err, task)
		}
	})
}

func TestDeleteTask(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	task := must(s.CreateTask(t.Context(), newTask(member)))(t)
	if err := s.DeleteTask(t.Context(), member.OrgID, task.ID); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.DeleteTask(t.Context(), member.OrgID, task.ID), store.ErrNotFound)
}

func TestCreateReport(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	task := must(s.CreateTask(t.Context(), newTask(member)))(t)
	in := store.NewReport{OrgID: member.OrgID, TaskID: task.ID, UserID: member.UserID, Reason: "spam 🚮"}
	got := must(s.CreateReport(t.Context(), in))(t)
	want := store.Report{ID: got.ID, TaskID: task.ID, Reason: in.Reason, CreatedAt: got.CreatedAt}
	if got != want || got.ID == uuid.Nil || got.CreatedAt.IsZero() {
		t.Errorf("report is %+v, want %+v", got, want)
	}
	if err := s.DeleteTask(t.Context(), member.OrgID, task.ID); err != nil {
		t.Fatal(err)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM reports"); n != 1 {
		t.Errorf("after the task was deleted there are %d reports, want 1", n)
	}
	_, err := s.CreateReport(t.Context(), in)
	wantErr(t, err, store.ErrNotFound)
}

// fill makes n tasks, three to each millisecond, every second one done, and returns their ids, newest first.
func fill(t *testing.T, url string, m store.Member, n int) []uuid.UUID {
	t.Helper()
	execute(t, url, `INSERT INTO tasks (id, organisation_id, title, notes, priority, tags, done, created_at)
		SELECT gen_random_uuid(), $1, 'task ' || i, '', 'none', '{}', i % 2 = 0, timestamptz '2030-01-01' + i / 3 * interval '1 millisecond'
		FROM generate_series(1, $2::int) i`, m.OrgID, n)
	rows := must(connect(t, url).Query(t.Context(), "SELECT id FROM tasks ORDER BY created_at DESC, id DESC"))(t)
	return must(pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]))(t)
}

func TestListTasksPageByPage(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	all := fill(t, url, member, 50)
	for _, limit := range []int{1, 2, 7, 50, 200} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			t.Parallel()
			var got []uuid.UUID
			filter := store.TaskFilter{Limit: limit}
			for {
				page := must(s.ListTasks(t.Context(), member.OrgID, filter))(t)
				if len(page) == 0 {
					break
				}
				if len(page) > limit {
					t.Fatalf("a page of %d has %d tasks", limit, len(page))
				}
				for _, task := range page {
					got = append(got, task.ID)
				}
				last := page[len(page)-1]
				filter.After = &store.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}
			}
			if !slices.Equal(got, all) {
				t.Errorf("pages of %d gave %d tasks, want all %d in order", limit, len(got), len(all))
			}
		})
	}
}

func TestListTasksByDone(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	all := fill(t, url, member, 30)
	var open, done []uuid.UUID
	for _, task := range must(s.ListTasks(t.Context(), member.OrgID, store.TaskFilter{Limit: 100}))(t) {
		if task.Done {
			done = append(done, task.ID)
			continue
		}
		open = append(open, task.ID)
	}
	if len(open) != 15 || len(done) != 15 || len(all) != 30 {
		t.Fatalf("there are %d open and %d done tasks of %d", len(open), len(done), len(all))
	}
	for want, ids := range map[bool][]uuid.UUID{false: open, true: done} {
		first := must(s.ListTasks(t.Context(), member.OrgID, store.TaskFilter{Done: &want, Limit: 10}))(t)
		after := &store.Cursor{CreatedAt: first[9].CreatedAt, ID: first[9].ID}
		rest := must(s.ListTasks(t.Context(), member.OrgID, store.TaskFilter{Done: &want, Limit: 10, After: after}))(t)
		var got []uuid.UUID
		for _, task := range append(first, rest...) {
			got = append(got, task.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("done %t lists %d tasks, want %d in order", want, len(got), len(ids))
		}
	}
}

// Both lists must page by their index: a sort would read the whole organisation for each page.
func TestListsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	fill(t, url, member, 5_000)
	execute(t, url, "VACUUM (ANALYZE) tasks") //nolint:misspell // SQL's word.
	for index, filter := range map[string]string{"tasks_newest": "", "tasks_newest_by_done": "AND done"} {
		rows := must(connect(t, url).Query(t.Context(), "EXPLAIN SELECT title FROM tasks WHERE organisation_id = $1 "+filter+`
			AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT 50`, member.OrgID, time.Now().AddDate(9, 0, 0), uuid.Nil))(t)
		plan := strings.Join(must(pgx.CollectRows(rows, pgx.RowTo[string]))(t), "\n")
		if !strings.Contains(plan, "Index Scan using "+index+" ") || strings.Contains(plan, "Sort") {
			t.Errorf("a page with the filter %q does not use index %s alone:\n%s", filter, index, plan)
		}
	}
}

func TestEachTask(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 200, 401} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			url := storetest.URL(t)
			s := storetest.Open(t, store.Config{URL: url})
			member := ensure(t, s, alice())
			all := fill(t, url, member, n)
			var got []uuid.UUID
			err := s.EachTask(t.Context(), member.OrgID, func(task store.Task) error {
				got = append(got, task.ID)
				return nil
			})
			if err != nil || !slices.Equal(got, all) {
				t.Errorf("visited %d tasks of %d in order: %v", len(got), len(all), err)
			}
		})
	}
}

func TestEachTaskStops(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	fill(t, url, member, 10)
	full, visits := errors.New("disk full"), 0
	err := s.EachTask(t.Context(), member.OrgID, func(store.Task) error {
		visits++
		return full
	})
	wantErr(t, err, full)
	if visits != 1 {
		t.Errorf("visited %d tasks after an error", visits)
	}
}

// The visitor may be a slow client's connection: it must not keep one of the database.
func TestEachTaskHoldsNoConnection(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url, MaxConns: 1})
	member := ensure(t, s, alice())
	fill(t, url, member, 3)
	err := s.EachTask(t.Context(), member.OrgID, func(task store.Task) error {
		_, err := s.Task(t.Context(), member.OrgID, task.ID)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
