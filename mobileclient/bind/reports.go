package bind

import "example.com/gatehouse/api"

// Report tells the administrators of a task.
type Report struct {
	ID, TaskID, Reason string
	CreatedAtMillis    int64
}

// CreateReport reports a task to the administrators.
func (c *Client) CreateReport(call *Call, taskID, reason string) (report *Report, err error) {
	defer recovered(&err)
	r, err := c.sdk.CreateReport(call.context(), api.ReportCreate{TaskID: taskID, Reason: reason}, call.options()...)
	if err != nil {
		return nil, err
	}
	return &Report{ID: r.ID, TaskID: r.TaskID, Reason: r.Reason, CreatedAtMillis: r.CreatedAt.UnixMilli()}, nil
}
