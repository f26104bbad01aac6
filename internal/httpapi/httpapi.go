// Package httpapi answers HTTP: it takes each request through the one order of steps, and holds the handlers.
//
// It is the only package that knows gin. The order stands in order.go, the routes in the contract, one file of
// handlers a resource beside it.
package httpapi

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/allowance"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/clientip"
	"example.com/gatehouse/internal/parse"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// Config is what the server is made of. All of it is required but where a field says otherwise.
type Config struct {
	Store   *store.Store
	Auth    *auth.Auth
	Known   *auth.Known
	Limiter *ratelimit.Limiter
	// Allowances is told at once of what is changed here.
	Allowances *allowance.Book
	Addresses  *clientip.Resolver
	Parser     parse.Parser // example:line
	Health     *Health
	Log        *slog.Logger
	// Routes and Budgets are the contract's, which tests may narrow.
	Routes  []api.Route
	Budgets []api.Budget
	// Meters has one for each metered budget.
	Meters Meters
	// Keys tell the keys of kinds that the contract's budgets name beside its own; nil where there are none.
	Keys map[api.Per]KeyFunc
	// PublicURL is where browsers find the server.
	PublicURL *url.URL
	// CORSOrigins are the origins that may call from a browser, with a bearer token; none by default.
	CORSOrigins []string
	// OpenAPI is the rendered contract.
	OpenAPI []byte
	// Pages holds index.html and assets/; without index.html a page says how to build it.
	Pages fs.FS
	// DevIDP answers the development issuer's paths; nil where there is none.
	DevIDP http.Handler
	// CounterStats tells of the store of counters in this process.
	CounterStats func() CounterStats
	// BodyTimeout is how long a request body may take to arrive; 0 is 10 seconds.
	BodyTimeout time.Duration
	Hooks       Hooks
}

// Hooks report to metrics; each may be nil.
type Hooks struct {
	// Observe is called once a request, when it has been answered. Route is a template of the contract, or one of few other words.
	Observe func(route, method string, status int, took time.Duration)
	// InFlight is called with +1 and -1.
	InFlight func(delta int)
	// UntrustedForward is called for each request that says where it came from, by a peer that is no trusted proxy.
	UntrustedForward func()
	// UnreadableAddress is called for each request whose address could not be read.
	UnreadableAddress func()
}

// CounterStats is how full the store of counters in this process is.
type CounterStats struct {
	Keys int
	// Evicted counts the keys that were dropped before their time.
	Evicted int64
}

// A Server answers requests. It keeps no goroutine of its own.
type Server struct {
	Config
	handler     http.Handler
	budgets     map[string]api.Budget
	crossOrigin *http.CrossOriginProtection
	assets      map[string]asset
	refusals    *refusals
}

// defaultBodyTimeout is generous for 64 KiB on a bad mobile network, and short for a connection that is held on purpose.
const defaultBodyTimeout = 10 * time.Second

// New mounts the routes. It fails when contract and handlers disagree, or when a route could not be decided in one call.
func New(cfg Config) (*Server, error) {
	s := &Server{Config: cfg, budgets: map[string]api.Budget{}, refusals: newRefusals()}
	if s.BodyTimeout == 0 {
		s.BodyTimeout = defaultBodyTimeout
	}
	for _, b := range cfg.Budgets {
		s.budgets[b.Name] = b
	}
	if err := s.protectOrigin(); err != nil {
		return nil, err
	}
	if err := s.readPages(); err != nil {
		return nil, err
	}
	engine, err := s.mount()
	if err != nil {
		return nil, fmt.Errorf("mount routes: %w", err)
	}
	s.handler = s.wrap(bySegments(engine))
	return s, nil
}

// ServeHTTP takes a request through the order.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// quietGin turns gin's debug output off. The mode is a global of gin's, so it is set once and not by every server.
var quietGin = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) }) //nolint:gochecknoglobals // It guards a global.

// mount builds gin's router: the contract's routes, and the short second list of what is mounted beside them.
func (s *Server) mount() (*gin.Engine, error) {
	quietGin()
	engine := gin.New()
	// gin answers these before any middleware of its own, past the log and the error format; a request that needs
	// cleaning up has no route.
	engine.RedirectTrailingSlash, engine.RedirectFixedPath = false, false
	engine.HandleMethodNotAllowed = true
	engine.UseRawPath = true // There is one where bySegments says so.
	engine.ForwardedByClientIP = false
	if err := s.checkRoutes(); err != nil {
		return nil, err
	}
	handlers := s.handlers()
	for _, route := range s.Routes {
		s.mountRoute(engine, route, handlers[route.ID])
	}
	s.mountShadowedMethods(engine)
	s.mountDevIDP(engine)
	engine.NoRoute(func(c *gin.Context) { s.fail(c.Writer, c.Request, notFound()) })
	engine.NoMethod(func(c *gin.Context) { s.fail(c.Writer, c.Request, failure{code: api.CodeMethodNotAllowed}) })
	return engine, nil
}

// checkRoutes refuses a contract that the server cannot keep, with every fault at once.
func (s *Server) checkRoutes() error {
	var faults []error
	for _, b := range s.Budgets {
		faults = append(faults, s.checkKey(b))
	}
	handlers := s.handlers()
	for _, route := range s.Routes {
		if handlers[route.ID] == nil {
			faults = append(faults, fmt.Errorf("route %s has no handler: add it to handlers", route.ID))
		}
		delete(handlers, route.ID)
		faults = append(faults, s.checkBudgets(route))
	}
	for id := range handlers {
		faults = append(faults, fmt.Errorf("handler %s has no route: add a row to api.Routes", id))
	}
	return errors.Join(faults...)
}

// checkBudgets holds the rule that a route's budgets are decided in one call, in one store and one slot.
func (s *Server) checkBudgets(route api.Route) error {
	charges := route.Charges()
	for i, name := range route.Budgets {
		b, ok := s.budgets[name]
		switch {
		case slices.Contains(route.Budgets[:i], name):
			return fmt.Errorf("route %s lists %s twice: list it once, and charge more than one unit by a meter", route.ID, name)
		case !ok:
			return fmt.Errorf("route %s charges %s, which is no budget: add it to api.Budgets", route.ID, name)
		case b.Metered != (s.Meters[name] != nil):
			return fmt.Errorf("route %s charges %s, whose row and whose meter disagree on whether it is metered: set Metered, or add it to newMeters", route.ID, name)
		}
	}
	for _, name := range charges {
		first, b := s.budgets[charges[0]], s.budgets[name]
		if slotOf(b.Per) != slotOf(first.Per) {
			return fmt.Errorf("route %s charges %s, counted per %s, beside %s, counted per %s: they are not in one slot; count %[2]s per %[6]q, or give it a route of its own",
				route.ID, name, b.Per, first.Name, first.Per, b.Per.InOrganisation())
		}
	}
	if err := s.Limiter.Together(charges...); len(charges) > 0 && err != nil {
		return fmt.Errorf("route %s: %w", route.ID, err)
	}
	return nil
}
