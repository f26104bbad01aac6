package api

import (
	"net/http"
	"slices"
	"strings"
)

// Class says who may call a route. The zero value protects: a route is open only if its row says so.
type Class uint8

const (
	// ClassUser needs a credential and charges the budgets of user and organisation, and the route's own.
	ClassUser Class = iota
	// ClassAuth needs a credential and charges the route's own budgets only.
	ClassAuth
	// ClassOptional takes a credential or none; a bad one is refused. It charges the route's own budgets only.
	ClassOptional
	// ClassPublic looks at no credential and charges the route's own budgets only.
	ClassPublic
	// ClassAdmin needs a credential with the role admin, which is checked before any budget but the edge. It charges the
	// route's own budgets, or else admin.
	ClassAdmin
)

// String gives the class's name as openapi.json bears it.
func (c Class) String() string {
	return [...]string{"user", "auth", "optional", "public", "admin"}[c]
}

// NeedsCredential says whether a request without a credential is refused.
func (c Class) NeedsCredential() bool { return c == ClassUser || c == ClassAuth || c == ClassAdmin }

// A Param is a query parameter of a route.
type Param struct {
	Name string
	// Type is its JSON Schema type; Format the schema format, if any.
	Type, Format string
	Required     bool
	Why          string
}

// A Route is one row of the contract.
type Route struct {
	// ID names the route; a budget of its own bears it.
	ID     string
	Method string
	// Path is a template with {name} segments.
	Path  string
	Class Class
	// Budgets are the route's own, beside those of its class.
	Budgets []string
	Query   []Param
	// Form are the fields of a body of application/x-www-form-urlencoded, where other protocols want one.
	Form []Param
	// Request and Response are zero values of the body types; nil where there is none or it is not JSON.
	Request, Response any
	// Status is that of success; ContentType that of a success body that is not JSON.
	Status      int
	ContentType string
	// Summary is one sentence for the reference.
	Summary string
	// TakesKey says that a request may bear an Idempotency-Key: sent again, it is answered again and not done again.
	TakesKey bool
	// NoHead is set where a HEAD request would have the effects of the GET.
	NoHead bool
}

// The ids of the routes, for those who must name one.
const (
	RouteLimitsGet       = "limits.get"
	RouteOpenAPIGet      = "openapi.get"
	RouteMeGet           = "me.get"
	RouteMeDelete        = "me.delete"
	RouteOrgGet          = "org.get"
	RouteAuthLogin       = "auth.login"
	RouteAuthCallback    = "auth.callback"
	RouteAuthRefresh     = "auth.refresh"
	RouteAuthLogout      = "auth.logout"
	RouteAuthBackchannel = "auth.backchannel"

	RouteAdminOrgsList        = "admin.orgs.list"
	RouteAdminOrgsPlan        = "admin.orgs.plan"
	RouteAdminPlansList       = "admin.plans.list"
	RouteAdminAuditList       = "admin.audit.list"
	RouteAdminThrottled       = "admin.throttled"
	RouteAdminLimiter         = "admin.limiter"
	RouteAdminOverridesList   = "admin.overrides.list"
	RouteAdminOverridesPut    = "admin.overrides.put"
	RouteAdminOverridesDelete = "admin.overrides.delete"
	RouteAdminLimitsExplain   = "admin.limits.explain"
	RouteAdminLimitsReset     = "admin.limits.reset"
	RouteAdminUsersRevoke     = "admin.users.revoke"
	RouteAdminThreaddump      = "admin.threaddump"
	RouteAdminHeapdump        = "admin.heapdump"
)

// Routes returns the table of routes. A row that the server does not mount, or a mounted route without a row, stops its start.
func Routes() []Route {
	return slices.Concat(
		metaRoutes(),
		taskRoutes(),   // example:line
		reportRoutes(), // example:line
		authRoutes(),
		adminReportRoutes(), // example:line
		adminRoutes(),
		adminLimitRoutes(),
		adminProcessRoutes(),
	)
}

func metaRoutes() []Route {
	return []Route{
		{
			ID: RouteLimitsGet, Method: http.MethodGet, Path: BasePath + "/limits", Class: ClassOptional, Response: Limits{}, Status: http.StatusOK,
			Summary: "What the caller may still spend of each budget. Spends none of them but the edge.",
		},
		{
			ID: RouteOpenAPIGet, Method: http.MethodGet, Path: BasePath + "/openapi.json", Class: ClassPublic, Status: http.StatusOK,
			ContentType: "application/json", Summary: "This description.",
		},
		{
			ID: RouteMeGet, Method: http.MethodGet, Path: BasePath + "/me", Response: Me{}, Status: http.StatusOK,
			Summary: "Who is calling.",
		},
		{
			ID: RouteMeDelete, Method: http.MethodDelete, Path: BasePath + "/me", Status: http.StatusNoContent,
			Budgets: []string{"tasks.write"}, // example:line
			Summary: "Removes the caller's personal data and sessions. What they made stays with the organisation.",
		},
		{
			ID: RouteOrgGet, Method: http.MethodGet, Path: BasePath + "/org", Response: Organisation{}, Status: http.StatusOK,
			Summary: "The caller's organisation.",
		},
	}
}

// paging is the query of every list.
func paging() []Param {
	return []Param{
		{Name: "limit", Type: "integer", Why: "Items a page, 1 to 200; 50 if absent."},
		{Name: "cursor", Type: "string", Why: "nextCursor of the page before."},
	}
}

func authRoutes() []Route {
	const auth = BasePath + "/auth"
	return []Route{
		{
			ID: RouteAuthLogin, Method: http.MethodGet, Path: auth + "/login", Class: ClassPublic, Budgets: []string{"auth.login"}, Status: http.StatusFound, NoHead: true,
			Query:   []Param{{Name: "returnTo", Type: "string", Why: "A path of this site to come back to; the page if absent."}},
			Summary: "Begins a sign-in: redirects to the issuer.",
		},
		{
			ID: RouteAuthCallback, Method: http.MethodGet, Path: auth + "/callback", Class: ClassPublic, Status: http.StatusSeeOther, NoHead: true,
			Query: []Param{
				{Name: "state", Type: "string", Required: true, Why: "What the sign-in began with."},
				{Name: "code", Type: "string", Why: "The issuer's code; absent where it refused."},
				{Name: "error", Type: "string", Why: "Why the issuer refused."},
				{Name: "iss", Type: "string", Why: "Who the issuer says it is (RFC 9207)."},
			},
			Summary: "Ends a sign-in: the issuer redirects here.",
		},
		{
			ID: RouteAuthRefresh, Method: http.MethodPost, Path: auth + "/refresh", Class: ClassAuth, Budgets: []string{"auth.refresh"}, Response: Me{}, Status: http.StatusOK,
			Summary: "Gives the session a new token; the old one is good for another 30 seconds.",
		},
		{
			ID: RouteAuthLogout, Method: http.MethodPost, Path: auth + "/logout", Class: ClassPublic, Response: LogoutResult{}, Status: http.StatusOK,
			Query:   []Param{{Name: "everywhere", Type: "boolean", Why: "Ends all of the person's sessions, and refuses their tokens that were issued up to this second."}},
			Summary: "Ends the session. Without one there is nothing to end, and that is no fault.",
		},
		{
			ID: RouteAuthBackchannel, Method: http.MethodPost, Path: auth + "/backchannel", Class: ClassPublic, Status: http.StatusOK,
			Form:    []Param{{Name: "logout_token", Type: "string", Required: true, Why: "The issuer's logout token, obeyed once."}},
			Summary: "Takes the issuer's word that somebody has signed out there (OpenID Connect Back-Channel Logout).",
		},
	}
}

func adminRoutes() []Route {
	const admin = BasePath + "/admin"
	return []Route{
		{
			ID: RouteAdminOrgsList, Method: http.MethodGet, Path: admin + "/orgs", Class: ClassAdmin, Response: OrganisationList{}, Status: http.StatusOK,
			Query: paging(), Summary: "All organisations, newest first.",
		},
		{
			ID: RouteAdminOrgsPlan, Method: http.MethodPut, Path: admin + "/orgs/{id}/plan", Class: ClassAdmin, Request: PlanChange{}, Response: Organisation{}, Status: http.StatusOK,
			Summary: "Puts an organisation on a plan. Its budgets change within a second, on every process.",
		},
		{
			ID: RouteAdminPlansList, Method: http.MethodGet, Path: admin + "/plans", Class: ClassAdmin, Response: PlanList{}, Status: http.StatusOK,
			Query: paging(), Summary: "The plans and the budgets that they change, smallest first. What a plan does not name it leaves as it is.",
		},
		{
			ID: RouteAdminAuditList, Method: http.MethodGet, Path: admin + "/audit", Class: ClassAdmin, Response: AuditList{}, Status: http.StatusOK,
			Query: paging(), Summary: "What administrators did, newest first.",
		},
		{
			ID: RouteAdminThrottled, Method: http.MethodGet, Path: admin + "/throttled", Class: ClassAdmin, Response: ThrottledList{}, Status: http.StatusOK,
			Query: paging()[:1], Summary: "Whom this process refused most in the last hour, and whom budgets in shadow would have refused. Addresses are cut to their network.",
		},
		{
			ID: RouteAdminLimiter, Method: http.MethodGet, Path: admin + "/limiter", Class: ClassAdmin, Response: LimiterStatus{}, Status: http.StatusOK,
			Summary: "How the limiter of this process is: its stores, and the budgets whose mode decides because a store fails.",
		},
	}
}

// adminLimitRoutes are about what people may spend.
func adminLimitRoutes() []Route {
	const (
		admin    = BasePath + "/admin"
		override = admin + "/overrides/{scope}/{id}/{budget}"
		limits   = admin + "/limits/{scope}/{id}"
	)
	return []Route{
		{
			ID: RouteAdminOverridesList, Method: http.MethodGet, Path: admin + "/overrides", Class: ClassAdmin, Response: OverrideList{}, Status: http.StatusOK,
			Query: append([]Param{
				{Name: "scope", Type: "string", Why: "Only those of plan, organisation or user."},
				{Name: "id", Type: "string", Why: "Only those of this plan, organisation or user; needs scope."},
			}, paging()...),
			Summary: "The overrides, newest first, those that have expired included.",
		},
		{
			ID: RouteAdminOverridesPut, Method: http.MethodPut, Path: override, Class: ClassAdmin, Request: OverridePut{}, Response: Override{}, Status: http.StatusOK,
			Summary: "Changes a budget for a plan, an organisation or a user, in place of an override that is there.",
		},
		{
			ID: RouteAdminOverridesDelete, Method: http.MethodDelete, Path: override, Class: ClassAdmin, Status: http.StatusNoContent,
			Query: reason(), Summary: "Ends an override.",
		},
		{
			ID: RouteAdminLimitsExplain, Method: http.MethodGet, Path: limits, Class: ClassAdmin, Response: Explanation{}, Status: http.StatusOK,
			Summary: "Each budget of a user, an organisation, an address, a session or everybody together: its numbers, where they come from, and what is spent. Spends none of them.",
		},
		{
			ID: RouteAdminLimitsReset, Method: http.MethodDelete, Path: limits + "/{budget}", Class: ClassAdmin, Status: http.StatusNoContent,
			Query: reason(), Summary: "Forgets what was spent of a budget.",
		},
	}
}

// adminProcessRoutes are about people's credentials and this process.
func adminProcessRoutes() []Route {
	const admin = BasePath + "/admin"
	return []Route{
		{
			ID: RouteAdminUsersRevoke, Method: http.MethodPost, Path: admin + "/users/{id}/revoke", Class: ClassAdmin, Request: Revocation{}, Status: http.StatusNoContent,
			Summary: "Ends all sessions of a user, and refuses the tokens that they have. Every process knows within a second.",
		},
		{
			ID: RouteAdminThreaddump, Method: http.MethodGet, Path: admin + "/threaddump", Class: ClassAdmin, Budgets: []string{"admin.threaddump"}, Status: http.StatusOK,
			Query: reason(), ContentType: "text/plain", NoHead: true, Summary: "The stacks of this process's goroutines.",
		},
		{
			ID: RouteAdminHeapdump, Method: http.MethodPost, Path: admin + "/heapdump", Class: ClassAdmin, Budgets: []string{"admin.heapdump"}, Status: http.StatusOK,
			Query: reason(), ContentType: "application/octet-stream", Summary: "A profile of this process's heap: where memory was allocated, not what is in it. For go tool pprof.",
		},
	}
}

// reason is the query of administrators' routes without a body.
func reason() []Param {
	return []Param{{Name: "reason", Type: "string", Why: "Why, for the audit; at most 1 000 characters."}}
}

// RouteByID returns the row of an id.
func RouteByID(id string) (Route, bool) {
	all := Routes()
	i := slices.IndexFunc(all, func(r Route) bool { return r.ID == id })
	if i < 0 {
		return Route{}, false
	}
	return all[i], true
}

// Charges names every budget that a request of the route is charged once it is known who calls, in table order; the
// edge comes before and is not among them.
func (r Route) Charges() []string {
	own := r.Budgets
	switch {
	case r.Class == ClassUser:
		own = append([]string{BudgetUser, BudgetOrganisation}, own...)
	case r.Class == ClassAdmin && len(own) == 0:
		own = []string{BudgetAdmin}
	}
	var charges []string
	for _, b := range Budgets() {
		if slices.Contains(own, b.Name) {
			charges = append(charges, b.Name)
		}
	}
	return charges
}

// URL fills the path's {name} segments in order.
func (r Route) URL(segments ...string) string {
	parts := strings.Split(r.Path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") && len(segments) > 0 {
			parts[i], segments = segments[0], segments[1:]
		}
	}
	return strings.Join(parts, "/")
}
