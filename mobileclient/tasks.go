package mobileclient

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"

	"example.com/gatehouse/api"
)

// A TaskQuery chooses a page of tasks. Its zero value is the first page of all.
type TaskQuery struct {
	// Done chooses finished or open tasks; nil chooses both.
	Done *bool
	// Limit is the items a page, at most [api.MaxPage]; 0 leaves it to the server.
	Limit int
	// Cursor is NextCursor of the page before.
	Cursor string
}

func (q TaskQuery) values() url.Values {
	v := url.Values{}
	if q.Done != nil {
		v.Set("done", strconv.FormatBool(*q.Done))
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	return v
}

// Tasks returns one page of the organisation's tasks, newest first.
func (c *Client) Tasks(ctx context.Context, q TaskQuery, opts ...CallOption) (api.TaskList, error) {
	call := c.newCall(api.RouteTasksList, opts)
	call.query = q.values()
	return fetch[api.TaskList](ctx, c, call)
}

// AllTasks goes through all tasks that the query chooses, newest first, from its cursor on, and asks for the next page
// when it is needed: each page is a call. After an error, which comes with no task, there is nothing more.
func (c *Client) AllTasks(ctx context.Context, q TaskQuery, opts ...CallOption) iter.Seq2[api.Task, error] {
	return func(yield func(api.Task, error) bool) {
		seen := map[string]bool{q.Cursor: true}
		for {
			page, err := c.Tasks(ctx, q, opts...)
			if err == nil && page.NextCursor != "" && seen[page.NextCursor] {
				err = fmt.Errorf("%s: the server repeats the cursor %q", api.RouteTasksList, page.NextCursor)
			}
			if err != nil {
				yield(api.Task{}, err)
				return
			}
			for _, task := range page.Items {
				if !yield(task, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			q.Cursor = page.NextCursor
			seen[q.Cursor] = true
		}
	}
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id string, opts ...CallOption) (api.Task, error) {
	return fetch[api.Task](ctx, c, c.newCall(api.RouteTasksGet, opts).of(id))
}

// CreateTask creates a task.
func (c *Client) CreateTask(ctx context.Context, task api.TaskCreate, opts ...CallOption) (api.Task, error) {
	return fetch[api.Task](ctx, c, c.newCall(api.RouteTasksCreate, opts).with(task))
}

// UpdateTask changes the fields that are set: see [api.Some] and [api.Clear].
func (c *Client) UpdateTask(ctx context.Context, id string, change api.TaskUpdate, opts ...CallOption) (api.Task, error) {
	return fetch[api.Task](ctx, c, c.newCall(api.RouteTasksUpdate, opts).of(id).with(change))
}

// DeleteTask deletes a task. Deleting it again is NOT_FOUND, which is also what a retry is told if only the first answer was lost.
func (c *Client) DeleteTask(ctx context.Context, id string, opts ...CallOption) error {
	return c.send(ctx, c.newCall(api.RouteTasksDelete, opts).of(id))
}

// Parse turns free text into task drafts and saves nothing.
func (c *Client) Parse(ctx context.Context, request api.ParseRequest, opts ...CallOption) (api.ParseResult, error) {
	return fetch[api.ParseResult](ctx, c, c.newCall(api.RouteTasksParse, opts).with(request))
}

// Export streams all of the organisation's tasks as CSV. The caller closes the stream; the context holds until then.
// A stream that breaks off ends with an error other than io.EOF.
func (c *Client) Export(ctx context.Context, opts ...CallOption) (io.ReadCloser, error) {
	call := c.newCall(api.RouteTasksExport, opts)
	call.stream = true
	resp, err := c.open(ctx, call)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
