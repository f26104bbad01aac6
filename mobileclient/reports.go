package mobileclient

import (
	"context"

	"example.com/gatehouse/api"
)

// CreateReport reports a task to the administrators.
func (c *Client) CreateReport(ctx context.Context, report api.ReportCreate, opts ...CallOption) (api.Report, error) {
	return fetch[api.Report](ctx, c, c.newCall(api.RouteReportsCreate, opts).with(report))
}
