package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/telemetry"
)

// unmatchedRoute is the label of requests that found no route, so that a scan of paths makes no new labels.
const unmatchedRoute = "unmatched"

// statusClientGone is logged, never sent: the caller hung up before there was an answer.
const statusClientGone = 499

// identify gives the request an id and finds its address. An id that comes along is believed only from a trusted proxy
// and only in a form that cannot forge a log line.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{route: unmatchedRoute, id: r.Header.Get(api.HeaderRequestID)}
		if !isRequestID(x.id) || !s.Addresses.Trusts(r.RemoteAddr) {
			x.id = rand.Text()
		}
		x.client = s.Addresses.Resolve(r.RemoteAddr, r.Header.Values("X-Forwarded-For"))
		w.Header().Set(api.HeaderRequestID, x.id)
		if s.Hooks.UntrustedForward != nil && r.Header.Get("X-Forwarded-For") != "" && !s.Addresses.Trusts(r.RemoteAddr) {
			s.Hooks.UntrustedForward()
		}
		next.ServeHTTP(w, withExchange(r, x))
	})
}

func isRequestID(text string) bool {
	if text == "" || len(text) > 64 {
		return false
	}
	for _, c := range []byte(text) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
		if !ok {
			return false
		}
	}
	return true
}

// observe logs and measures every answer.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.inFlight(+1)
		defer s.inFlight(-1)
		rec := &recorder{ResponseWriter: w}
		defer func() { //nolint:contextcheck // The request has its context. This runs also when an answer that had begun was cut off.
			took, x := time.Since(began), exchangeOf(r)
			status := rec.finalStatus(x)
			if s.Hooks.Observe != nil {
				s.Hooks.Observe(x.route, r.Method, status, took)
			}
			telemetry.Describe(r.Context(), r.Method, x.route, x.id, x.client.Key)
			s.logAccess(r, x, rec, status, took)
		}()
		next.ServeHTTP(rec, r)
	})
}

func (s *Server) inFlight(delta int) {
	if s.Hooks.InFlight != nil {
		s.Hooks.InFlight(delta)
	}
}

// logAccess writes one line a request. It names the path but not the query, which may hold codes and states.
func (s *Server) logAccess(r *http.Request, x *exchange, rec *recorder, status int, took time.Duration) {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("route", x.route),
		slog.Int("status", status), slog.Int64("bytes", rec.bytes), slog.Duration("took", took),
		slog.String("client", x.client.Key),
	}
	if x.caller != nil {
		attrs = append(attrs, slog.String("user", x.caller.UserID.String()), slog.String("via", string(x.caller.Via)))
	}
	if x.cause != nil {
		attrs = append(attrs, slog.String("cause", x.cause.Error()))
	}
	if x.cut {
		attrs = append(attrs, slog.Bool("cut_off", true))
	}
	switch {
	case x.route == "/livez" || x.route == "/readyz": // Asked each second by whoever stands in front.
		level = slog.LevelDebug
	case status >= http.StatusInternalServerError, x.cut && !x.gone:
		level = slog.LevelError
	}
	s.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// A recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader notes the first final status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write counts what was sent.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) finalStatus(x *exchange) int {
	switch {
	case x.gone:
		return statusClientGone
	case r.status != 0:
		return r.status
	}
	return http.StatusOK
}

// recover answers a panic with one 500. Once an answer has begun it can only be cut off, so that nobody takes it for whole.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { //nolint:contextcheck // The request has its context.
			fault := recover()
			if fault == nil {
				return
			}
			x := exchangeOf(r)
			if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) { // Who does this has said why.
				x.cut, x.gone = true, hungUp(r)
				panic(http.ErrAbortHandler)
			}
			x.cause = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
			if rec, ok := w.(*recorder); ok && rec.status != 0 {
				x.cut = true
				s.Log.ErrorContext(r.Context(), "panic in the middle of an answer", "cause", x.cause.Error())
				panic(http.ErrAbortHandler)
			}
			s.fail(w, r, failure{code: api.CodeInternal, cause: x.cause})
		}()
		next.ServeHTTP(w, r)
	})
}
