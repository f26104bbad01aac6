package mobileclient

import (
	"context"

	"example.com/gatehouse/api"
)

// Me says who is calling.
func (c *Client) Me(ctx context.Context, opts ...CallOption) (api.Me, error) {
	return fetch[api.Me](ctx, c, c.newCall(api.RouteMeGet, opts))
}

// DeleteMe removes the caller's personal data and sessions. What they made stays with the organisation.
func (c *Client) DeleteMe(ctx context.Context, opts ...CallOption) error {
	return c.send(ctx, c.newCall(api.RouteMeDelete, opts))
}

// Organisation returns the caller's organisation.
func (c *Client) Organisation(ctx context.Context, opts ...CallOption) (api.Organisation, error) {
	return fetch[api.Organisation](ctx, c, c.newCall(api.RouteOrgGet, opts))
}
