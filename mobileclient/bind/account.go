package bind

import (
	"slices"
	"time"

	"example.com/gatehouse/api"
)

// Me is who is calling.
type Me struct {
	ID, Name, Email                                    string
	OrganisationID, OrganisationName, OrganisationPlan string

	roles []string
}

// HasRole says whether the caller has a role.
func (m *Me) HasRole(role string) bool { return slices.Contains(m.roles, role) }

// Me says who is calling.
func (c *Client) Me(call *Call) (me *Me, err error) {
	defer recovered(&err)
	m, err := c.sdk.Me(call.context(), call.options()...)
	if err != nil {
		return nil, err
	}
	return &Me{
		ID: m.ID, Name: m.Name, Email: m.Email, roles: m.Roles,
		OrganisationID: m.Organisation.ID, OrganisationName: m.Organisation.Name, OrganisationPlan: m.Organisation.Plan,
	}, nil
}

// DeleteMe removes the caller's personal data and sessions.
func (c *Client) DeleteMe(call *Call) (err error) {
	defer recovered(&err)
	return c.sdk.DeleteMe(call.context(), call.options()...)
}

// Organisation is a tenant.
type Organisation struct {
	ID, Name, Plan  string
	MemberCount     int
	CreatedAtMillis int64
}

// Organisation returns the caller's organisation.
func (c *Client) Organisation(call *Call) (org *Organisation, err error) {
	defer recovered(&err)
	o, err := c.sdk.Organisation(call.context(), call.options()...)
	if err != nil {
		return nil, err
	}
	return &Organisation{ID: o.ID, Name: o.Name, Plan: o.Plan, MemberCount: o.MemberCount, CreatedAtMillis: o.CreatedAt.UnixMilli()}, nil
}

// Standing says whether a call would be let pass now.
type Standing struct {
	Allowed          bool
	Remaining        int64
	RetryAfterMillis int64
}

// Limits says, without asking the server and without spending, whether a call to the endpoint would leave now: a route's
// id such as "tasks.parse", or a path.
func (c *Client) Limits(endpoint string) (standing *Standing, err error) {
	defer recovered(&err)
	s, err := c.sdk.Limits(endpoint)
	if err != nil {
		return nil, err
	}
	return &Standing{Allowed: s.Allowed, Remaining: s.Remaining, RetryAfterMillis: (s.RetryAfter + time.Millisecond - 1).Milliseconds()}, nil
}

// ServerLimits are what the server says that the caller may still spend.
type ServerLimits struct{ items []api.LimitStatus }

// LimitStatus is the state of one budget.
type LimitStatus struct {
	Name string
	// Limit and Remaining are -1 where there is none, or it is not known.
	Limit, Remaining int64
	WindowSeconds    int64
	ResetMillis      int64
	Enforced         bool
}

// Len is how many budgets there are.
func (l *ServerLimits) Len() int { return len(l.items) }

// At is one of them; null beyond the last.
func (l *ServerLimits) At(i int) *LimitStatus {
	s := pointerAt(l.items, i)
	if s == nil {
		return nil
	}
	return &LimitStatus{
		Name: s.Name, Limit: orNone(s.Limit), Remaining: orNone(s.Remaining), WindowSeconds: s.WindowSeconds, ResetMillis: s.ResetMS, Enforced: s.Enforced,
	}
}

func orNone(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// FetchLimits asks the server what the caller may still spend.
func (c *Client) FetchLimits(call *Call) (limits *ServerLimits, err error) {
	defer recovered(&err)
	l, err := c.sdk.FetchLimits(call.context(), call.options()...)
	if err != nil {
		return nil, err
	}
	return &ServerLimits{items: l.Budgets}, nil
}
