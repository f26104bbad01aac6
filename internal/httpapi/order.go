package httpapi

import (
	"maps"
	"net/http"
	"slices"

	"example.com/gatehouse/api"
)

// A step is one line of a request's way. The first seven wrap everything; those that need to know the route check it.
type step struct {
	wrap  func(http.Handler) http.Handler
	check func(*call) error
	why   string
}

// order is a request's way, from the outside in. Each line has its place for a reason.
func (s *Server) order() []step {
	return []step{
		{wrap: s.identify, why: "everything after it can name the request"},
		{wrap: s.boundBody, why: "a slow body holds no connection, not even that of a caller who is refused below"},
		{wrap: s.observe, why: "log and metrics see every answer, those of the steps below included"},
		{wrap: s.recover, why: "a panic is one 500 in the one format, and is logged"},
		{wrap: s.secure, why: "refusals bear the security headers too"},
		{wrap: s.pages, why: "pages and health cost no look-up, so they end here and spend nothing"},
		{wrap: s.cors, why: "a page of another origin must be able to read a 429, and its preflight is free"},
		{wrap: s.limitEdge, why: "the cheap check protects all that follows: body, routing, authentication"},
		{wrap: s.capBody, why: "no handler reads more than it must"},
		{check: s.checkOrigin, why: "a forged request of another site is refused before its cookie is looked up"},
		{check: s.authenticate, why: "the expensive check: who is calling"},
		{check: s.authorise, why: "nobody without the role may spend an administrator's budget"},
		{check: s.replay, why: "a request that was answered is answered again, and spends nothing of what follows"},
		{check: s.charge, why: "budgets belong to who is calling, so they need to know"},
	}
}

// wrap puts the steps of every request around the router.
func (s *Server) wrap(router http.Handler) http.Handler {
	for _, step := range slices.Backward(s.order()) {
		if step.wrap != nil {
			router = step.wrap(router)
		}
	}
	return router
}

// checks are the steps of a mounted route, in order.
func (s *Server) checks() []func(*call) error {
	var checks []func(*call) error
	for _, step := range s.order() {
		if step.check != nil {
			checks = append(checks, step.check)
		}
	}
	return checks
}

// A handler answers one route. What it returns is written by the one error writer.
type handler func(*call) error

// handlers is the other half of the contract: what answers each route. A new resource adds its lines here.
func (s *Server) handlers() map[string]handler {
	all := map[string]handler{
		api.RouteLimitsGet:       s.limitsGet,
		api.RouteOpenAPIGet:      s.openapiGet,
		api.RouteMeGet:           s.meGet,
		api.RouteMeDelete:        s.meDelete,
		api.RouteOrgGet:          s.orgGet,
		api.RouteAuthLogin:       s.authLogin,
		api.RouteAuthCallback:    s.authCallback,
		api.RouteAuthRefresh:     s.authRefresh,
		api.RouteAuthLogout:      s.authLogout,
		api.RouteAuthBackchannel: s.authBackchannel,

		api.RouteAdminOrgsList:        s.adminOrgsList,
		api.RouteAdminOrgsPlan:        s.adminOrgsPlan,
		api.RouteAdminPlansList:       s.adminPlansList,
		api.RouteAdminAuditList:       s.adminAuditList,
		api.RouteAdminThrottled:       s.adminThrottled,
		api.RouteAdminLimiter:         s.adminLimiter,
		api.RouteAdminOverridesList:   s.adminOverridesList,
		api.RouteAdminOverridesPut:    s.adminOverridesPut,
		api.RouteAdminOverridesDelete: s.adminOverridesDelete,
		api.RouteAdminLimitsExplain:   s.adminLimitsExplain,
		api.RouteAdminLimitsReset:     s.adminLimitsReset,
		api.RouteAdminUsersRevoke:     s.adminUsersRevoke,
		api.RouteAdminThreaddump:      s.adminThreaddump,
		api.RouteAdminHeapdump:        s.adminHeapdump,
	}
	maps.Copy(all, s.taskHandlers())   // example:line
	maps.Copy(all, s.reportHandlers()) // example:line
	return all
}
