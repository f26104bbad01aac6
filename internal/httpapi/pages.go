package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/clientip"
)

// Health is what readyz says. It is set from outside and answered from memory, so that a probe costs nothing and a
// store's outage does not take every replica out at once. The zero value is starting.
type Health struct{ state atomic.Pointer[string] }

// The states. Any but Ready and Ahead answers 503.
const (
	Starting = "starting"
	Ready    = "ready"
	Ahead    = "ready; the database has a migration that this build does not know, so a newer build is being rolled out"
	Draining = "draining"
	Behind   = "behind: the database lacks a migration that this build needs; run the subcommand migrate"
)

// Set changes the state. Draining is final.
func (h *Health) Set(state string) {
	for {
		old := h.state.Load()
		if old != nil && *old == Draining || h.state.CompareAndSwap(old, &state) {
			return
		}
	}
}

// State returns the present one.
func (h *Health) State() string {
	if state := h.state.Load(); state != nil {
		return *state
	}
	return Starting
}

// Serving says whether requests are to be sent here.
func (h *Health) Serving() bool {
	state := h.State()
	return state == Ready || state == Ahead
}

// pagePaths are the paths of the web app; each is answered with the same page, which reads its own path.
func pagePaths() []string {
	return []string{
		"/admin/reports", // example:line
		"/", "/index.html", "/budgets", "/docs",
		"/admin", "/admin/overrides", "/admin/throttled", "/admin/limiter", "/admin/people", "/admin/process", "/admin/audit",
	}
}

// pages answers health checks, the web app's page and its files. They cost no look-up, so they end here.
func (s *Server) pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, route := s.pageFor(r.URL.Path)
		if answer == nil {
			next.ServeHTTP(w, r)
			return
		}
		exchangeOf(r).route = route
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.fail(w, r, failure{code: api.CodeMethodNotAllowed})
			return
		}
		answer(w, r)
	})
}

// pageFor finds what answers a path, and its label.
func (s *Server) pageFor(path string) (answer http.HandlerFunc, route string) {
	switch {
	case path == "/livez":
		return plain(http.StatusOK, "alive"), path
	case path == "/readyz":
		return s.readyz, path
	case slices.Contains(pagePaths(), path):
		return s.page, "page"
	case s.isFile(path):
		return s.file, "file"
	}
	return nil, ""
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	state := s.Health.State()
	status := http.StatusOK
	if !s.Health.Serving() {
		status = http.StatusServiceUnavailable
	}
	plain(status, state)(w, r)
}

func plain(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text + "\n"))
	}
}

// isFile says whether the path is a file of the web build. The page itself is not: it has its own paths.
func (s *Server) isFile(path string) bool {
	_, ok := s.assets[strings.TrimPrefix(path, "/")]
	return ok && strings.HasPrefix(path, "/")
}

// page sends index.html, which is asked for again each time: it names the files of its build.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", pageCSP)
	s.assets[indexFile].send(w, r, "no-cache")
}

// file sends a file of the build. Those under assets/ have a hash of their content in their name.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	cache := "no-cache"
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		cache = "public, max-age=31536000, immutable"
	}
	s.assets[strings.TrimPrefix(r.URL.Path, "/")].send(w, r, cache)
}

// indexFile is the page among the files of the build.
const indexFile = "index.html"

// readPages reads the files of the build; without an index.html a page says how to make one.
func (s *Server) readPages() error {
	var err error
	if s.assets, err = loadAssets(s.Pages); err != nil {
		return err
	}
	if _, built := s.assets[indexFile]; !built {
		s.assets[indexFile], err = newAsset(indexFile, []byte(unbuiltPage))
	}
	return err
}

// unbuiltPage is what a build without Node shows.
const unbuiltPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>No web page built</title>
<h1>The server runs; its web page is not built.</h1>
<p>Run <code>make web</code> (it needs Node.js 20 or newer), then start the server again. The API is at <code>/api/v1</code>.</p>
</html>
`

// NotReady answers while the server comes up: alive, not ready, and everything else unavailable for the moment.
func NotReady(health *Health, log *slog.Logger, publicURL *url.URL) (http.Handler, error) {
	addresses, err := clientip.New(clientip.Config{})
	if err != nil {
		return nil, fmt.Errorf("set up addresses: %w", err)
	}
	s := &Server{Config: Config{Health: health, Log: log, Addresses: addresses, PublicURL: publicURL, BodyTimeout: defaultBodyTimeout}}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez":
			exchangeOf(r).route = r.URL.Path
			plain(http.StatusOK, "alive")(w, r)
		case "/readyz":
			exchangeOf(r).route = r.URL.Path
			s.readyz(w, r)
		default:
			s.fail(w, r, failure{code: api.CodeUnavailable, detail: "The server is starting."})
		}
	})
	return s.identify(s.boundBody(s.observe(s.recover(s.secure(answer))))), nil
}
