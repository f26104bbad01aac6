package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/clientip"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// An exchange is what is known of a request while it is on its way; each step adds to it. It belongs to one goroutine.
type exchange struct {
	id     string
	client clientip.Client
	// route is the template for labels, unmatchedRoute until one matched.
	route string
	// credential is what the request carries, read once at the edge; credentialErr says that it carries two.
	credential    auth.Credential
	credentialErr error
	// caller is who is calling, nil while unknown.
	caller *auth.Caller
	// edge is the decision of the edge, moved to the caller once a stranger turns out to be one; stranger says that
	// the address paid.
	edge     ratelimit.Decision
	stranger bool
	// budgets is the decision of the route's budgets.
	budgets ratelimit.Decision
	// cause is what went wrong, for the log alone.
	cause error
	// failed says that the server could not do what it should have, however that was told.
	failed bool
	// gone says that the caller had hung up when a failure was to be answered.
	gone bool
	// cut says that an answer that had begun was cut off.
	cut bool
	// keep says that the route's budgets are kept even if the server fails: the money is spent.
	keep bool
}

// note adds to what went wrong, for the log alone.
func (x *exchange) note(err error) {
	if err != nil {
		x.cause = errors.Join(x.cause, err)
	}
}

// hungUp says that the caller no longer waits.
func hungUp(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

type exchangeKey struct{}

// exchangeOf finds the request's exchange, which the first step has made.
func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID returns the ID of the request whose context ctx is, "" for none. The log puts it into each record.
func RequestID(ctx context.Context) string {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x.id
	}
	return ""
}

func withExchange(r *http.Request, x *exchange) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}

// A call is a request that has found its route.
type call struct {
	*exchange
	gin *gin.Context
	row api.Route
	// charges are what the row charges beside the edge.
	charges []string
	// claim holds the request's idempotency key; nil without one.
	claim *store.Claim
}

func (c *call) request() *http.Request      { return c.gin.Request }
func (c *call) context() context.Context    { return c.gin.Request.Context() }
func (c *call) writer() http.ResponseWriter { return c.gin.Writer }

// mountRoute registers a route, and HEAD beside GET where that has no effects.
func (s *Server) mountRoute(engine *gin.Engine, route api.Route, h handler) {
	serve := s.serve(route, h)
	for _, method := range methods(route) {
		engine.Handle(method, ginPath(route.Path), serve)
	}
}

func methods(route api.Route) []string {
	if route.Method == http.MethodGet && !route.NoHead {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{route.Method}
}

// ginPath turns {id} into :id.
func ginPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// serve takes a request of the route through its checks to its handler. What the server's own fault cost is given back.
func (s *Server) serve(route api.Route, h handler) gin.HandlerFunc {
	checks, charges := append(s.checks(), h), route.Charges()
	return func(g *gin.Context) {
		c := &call{exchange: exchangeOf(g.Request), gin: g, row: route, charges: charges}
		c.route = route.Path
		finished := false
		defer func() { s.giveBack(c, finished); s.release(c) }()
		if err := firstError(c, checks); err != nil && !errors.Is(err, errAnswered) {
			s.fail(g.Writer, g.Request, err)
		}
		finished = true
	}
}

func firstError[F ~func(*call) error](c *call, checks []F) error {
	for _, check := range checks {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// mountShadowedMethods makes a literal path answer 405 to a method that only a sibling with a parameter has: without
// it, GET /tasks/parse would be a task whose id is "parse".
func (s *Server) mountShadowedMethods(engine *gin.Engine) {
	taken := map[string]bool{}
	for _, route := range s.Routes {
		for _, method := range methods(route) {
			taken[method+" "+route.Path] = true
		}
	}
	for _, literal := range s.Routes {
		for _, sibling := range s.Routes {
			for _, method := range methods(sibling) {
				key := method + " " + literal.Path
				if taken[key] || !shadows(literal.Path, sibling.Path) {
					continue
				}
				taken[key] = true
				engine.Handle(method, ginPath(literal.Path), s.methodNotAllowed(literal.Path))
			}
		}
	}
}

// shadows says whether the literal path would match the other's template.
func shadows(literal, template string) bool {
	a, b := strings.Split(literal, "/"), strings.Split(template, "/")
	if literal == template || len(a) != len(b) || strings.Contains(literal, "{") {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(b[i], "{") {
			return false
		}
	}
	return true
}

func (s *Server) methodNotAllowed(path string) gin.HandlerFunc {
	var allowed []string
	for _, route := range s.Routes {
		if route.Path == path {
			allowed = append(allowed, methods(route)...)
		}
	}
	return func(g *gin.Context) {
		exchangeOf(g.Request).route = path
		g.Header("Allow", strings.Join(allowed, ", "))
		s.fail(g.Writer, g.Request, failure{code: api.CodeMethodNotAllowed})
	}
}

// id reads the path's id. Whatever is no id names nothing.
func (c *call) id() (uuid.UUID, error) {
	text := c.gin.Param("id")
	if !api.IsID(text) {
		return uuid.Nil, notFound()
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, notFound()
	}
	return id, nil
}

// query reads the query. One that is malformed, or says a thing twice, means nothing for sure.
func (c *call) query() (url.Values, error) {
	values, err := url.ParseQuery(c.request().URL.RawQuery)
	if err != nil {
		return nil, badRequest("The query is malformed.")
	}
	for name, all := range values {
		if len(all) > 1 {
			return nil, invalid([]api.FieldError{{Field: name, Message: "must be given once"}})
		}
	}
	return values, nil
}

// json answers with a body of the contract.
func (c *call) json(status int, body any) error { //nolint:unparam // A handler says its status; those that create use reply.
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", c.row.ID, err)
	}
	c.gin.Data(status, "application/json", data)
	return nil
}

func (c *call) noContent() error {
	c.gin.Status(http.StatusNoContent)
	c.gin.Writer.WriteHeaderNow()
	return nil
}
