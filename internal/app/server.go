package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/gatehouse/internal/allowance"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/parse"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/ratelimit/memory"
	"example.com/gatehouse/internal/ratelimit/postgres"
	"example.com/gatehouse/internal/ratelimit/redis"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/telemetry"
)

const (
	// headerTimeout is how long a request's header may take; what takes longer is slow on purpose.
	headerTimeout = 5 * time.Second
	// idleTimeout is longer than the 60 s after which most load balancers drop idle connections, so that they close first.
	idleTimeout = 75 * time.Second
	// writeTimeout bounds a whole answer. It is long enough for an export over a slow line.
	writeTimeout = 60 * time.Second
	// maxHeader is the most bytes of a request's header; cookies and tokens are far smaller.
	maxHeader = 32 << 10
	// shutdownTimeout is how long requests under way may take to end.
	shutdownTimeout = 15 * time.Second
	// tracesTimeout is how long the sending of the last spans may take.
	tracesTimeout = 2 * time.Second
	// healthEvery is how often what readyz says is found out anew.
	healthEvery = time.Second
)

// A server is the running program. Its parts are in the order in which they come up; close takes them down in the other.
type server struct {
	cfg     config.Config
	log     *slog.Logger
	metrics *telemetry.Metrics
	tracing *telemetry.Tracing // nil: none
	health  httpapi.Health
	handler atomic.Pointer[http.Handler]

	listener, admin net.Listener
	database        *devdb.Cluster
	store           *store.Store
	memory          *memory.Store
	postgres        *postgres.Store
	redis           *redis.Store
	parser          parse.Parser // example:line
	meters          httpapi.Meters
	limiter         *ratelimit.Limiter
	allowances      *allowance.Book
	agreement       *agreement
	auth            *auth.Auth
	devIDP          http.Handler
	known           *auth.Known
	api             *httpapi.Server
	// following ends when the changes are no longer followed; work, when nothing runs beside requests any more.
	following, work sync.WaitGroup
}

// listen binds both addresses, and fills in the settings that follow from the port.
func (s *server) listen(ctx context.Context) error {
	var err error
	if s.listener, err = bind(ctx, "HTTP_ADDR", s.cfg.HTTPAddr); err != nil {
		return err
	}
	if s.admin, err = bind(ctx, "ADMIN_ADDR", s.cfg.AdminAddr); err != nil {
		return err
	}
	s.cfg = s.cfg.ListeningOn(s.listener.Addr().String())
	s.log.InfoContext(ctx, "listening", "url", s.cfg.PublicURL, "addr", s.listener.Addr().String(), "admin", s.admin.Addr().String())
	return nil
}

// warnOfAdminAddr says that others may reach what has no authentication. Containers must let it, so that it can be no fault: what
// keeps them away there is their network.
func (s *server) warnOfAdminAddr(ctx context.Context) {
	if s.cfg.Env == config.Production && !s.cfg.AdminIsLocal() {
		s.log.WarnContext(ctx, "ADMIN_ADDR answers other machines, and /metrics and /debug/pprof have no authentication: "+
			"let a private network or a firewall admit nobody but what collects metrics, or set ADMIN_ADDR=127.0.0.1:9090", "admin", s.cfg.AdminAddr)
	}
}

func bind(ctx context.Context, setting, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: the address %s is taken by another program; end that one, or set %s to another address", setting, addr, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s=%s: %w", setting, addr, err)
	}
	return l, nil
}

// run answers from the beginning, alive and not ready; brings the parts up; serves until ctx ends or a part fails for
// good; and shuts down in order: readyz says so, load balancers get time to notice, requests under way end.
func (s *server) run(ctx context.Context) error {
	if err := s.answerNotReady(); err != nil {
		return err
	}
	public, admin := s.newHTTPServer(http.HandlerFunc(s.answer)), s.newHTTPServer(telemetry.AdminHandler(s.metrics))
	admin.WriteTimeout, admin.ReadTimeout = 0, headerTimeout // A profile takes as long as it is asked to; asking for it does not.
	served := make(chan error, 2)
	go func() { served <- public.Serve(s.listener) }()
	go func() { served <- admin.Serve(s.admin) }()

	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	err := s.start(ctx, work)
	if err == nil {
		err = s.wait(ctx, work, served)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // Told to end while it came up.
	}
	err = errors.Join(err, s.shutDown(ctx, public, admin))
	stop() // Not before: while the server drains, requests need what runs beside them.
	s.work.Wait()
	return err
}

func (s *server) answerNotReady() error {
	public, err := url.Parse(s.cfg.PublicURL)
	if err != nil {
		return fmt.Errorf("PUBLIC_URL: %w", err)
	}
	starting, err := httpapi.NotReady(&s.health, s.log, public)
	if err != nil {
		return err
	}
	s.handler.Store(&starting)
	return nil
}

// answer hands a request to the handler of the moment. While draining each answer is its connection's last: a proxy that
// keeps one open would send a request into its end.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if s.health.State() == httpapi.Draining {
		w.Header().Set("Connection", "close")
	}
	(*s.handler.Load()).ServeHTTP(w, r)
}

func (s *server) newHTTPServer(h http.Handler) *http.Server {
	// A proxy speaks HTTP/2 and bounds its streams; whoever comes past it without TLS gets HTTP/1.1, and nothing to upgrade to.
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Protocols: &protocols,
		Handler:   h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, // OPTIONS * has no answer of its own here.
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// start brings the parts up, in order. What ctx ends is the start; what runs on ends with work.
func (s *server) start(ctx, work context.Context) error {
	for _, part := range []func(context.Context) error{
		s.openDatabase,
		s.makeParser, // example:line
		s.makeLimiter, s.makeAuth, s.makeHandler,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	if err := s.followChanges(ctx, work); err != nil {
		return err
	}
	s.health.Set(httpapi.Ready)
	s.metrics.DatabaseUp(true)
	s.work.Go(func() { s.watchSchema(work) })
	s.work.Go(func() { s.watchAgreement(work) })
	s.work.Go(func() { s.keepPruned(work) })
	s.watchBudgets(work)
	s.log.InfoContext(ctx, "ready", "url", s.cfg.PublicURL)
	return nil
}

// wait returns when ctx ends, or with the fault of a part that cannot go on.
func (s *server) wait(ctx, work context.Context, served <-chan error) error {
	discovery := s.auth.Start(work)
	var databaseEnded <-chan struct{} // Never, where the database is not ours.
	if s.database != nil {
		databaseEnded = s.database.Exited()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-databaseEnded:
			return errors.New("the embedded PostgreSQL has ended by itself; its log is above")
		case err := <-served:
			return fmt.Errorf("serve HTTP: %w", err)
		case err, open := <-discovery:
			if err != nil {
				return fmt.Errorf("discover the issuer %s: %w", s.cfg.OIDC.Issuer, err)
			}
			if !open {
				discovery = nil
			}
		}
	}
}

// watchSchema keeps readyz up to date. What cannot be asked does not change: an outage of the database would take every
// replica out at once.
func (s *server) watchSchema(ctx context.Context) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		schema, err := s.store.Schema(ctx)
		s.metrics.DatabaseUp(err == nil)
		if err == nil {
			s.health.Set(stateOf(schema))
		}
	}
}

// stateOf is what readyz says of a schema. A server that is older than it goes on serving, and says so.
func stateOf(schema store.Schema) string {
	switch {
	case schema.Behind:
		return httpapi.Behind
	case schema.Ahead:
		return httpapi.Ahead
	}
	return httpapi.Ready
}

// shutDown drains and ends both HTTP servers. A request that does not end in time is cut off, and said.
func (s *server) shutDown(ctx context.Context, public, admin *http.Server) error {
	drain := s.cfg.ShutdownDrain
	if !s.health.Serving() {
		drain = 0 // No load balancer sends anything here.
	}
	s.health.Set(httpapi.Draining)
	ctx = context.WithoutCancel(ctx)
	s.log.InfoContext(ctx, "shutting down", "drain", drain.String())
	time.Sleep(drain) // Nothing is waited for but the load balancers' next probe.
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	var faults []error
	for _, h := range []*http.Server{public, admin} {
		if err := h.Shutdown(ctx); err != nil {
			faults = append(faults, fmt.Errorf("end requests under way: %w", err), h.Close())
		}
	}
	return errors.Join(faults...)
}

// close takes down what came up, last first.
func (s *server) close() error {
	var faults []error
	s.following.Wait() // It ended with the work.
	if s.limiter != nil {
		s.limiter.Close()
	}
	if s.redis != nil {
		faults = append(faults, s.redis.Close())
	}
	if s.postgres != nil {
		s.postgres.Close()
	}
	if s.memory != nil {
		s.memory.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.database != nil {
		faults = append(faults, s.database.Stop())
	}
	if err := s.closeTracing(); err != nil {
		s.log.Warn("the last traces were not sent", "error", err)
	}
	for _, l := range []net.Listener{s.listener, s.admin} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) { // Closed by its HTTP server.
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// closeTracing sends the last spans. A collector that is down must not hold the end, nor make it look like a failure.
func (s *server) closeTracing() error {
	ctx, cancel := context.WithTimeout(context.Background(), tracesTimeout)
	defer cancel()
	return s.tracing.Close(ctx)
}
