package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/gatehouse/api"
)

// pageCSP lets the page load what it was built with from its own origin and nothing else.
const pageCSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// apiCSP is for answers that are no page: nothing in them is to be run, whatever a browser makes of them.
const apiCSP = "default-src 'none'; frame-ancestors 'none'"

// secure sets the headers that keep a browser from doing what nobody asked for.
func (s *Server) secure(next http.Handler) http.Handler {
	https := s.PublicURL.Scheme == "https"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Content-Security-Policy", apiCSP)
		if https {
			h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		if strings.HasPrefix(r.URL.Path, api.BasePath+"/") {
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}

// maxPreflightAge is how long a browser may remember a preflight; two hours is the most that Chromium honours.
const maxPreflightAge = "7200"

// cors answers callers of other origins that the allow-list names. Credentials are never allowed: such a caller has a
// bearer token, and a cookie that rode along would be a forged request.
func (s *Server) cors(next http.Handler) http.Handler {
	methods := strings.Join([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, ", ")
	exposed := strings.Join(api.ExposedHeaders(), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		allowed := origin != "" && slices.Contains(s.CORSOrigins, origin)
		if allowed {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", exposed)
			h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		}
		if origin == "" || r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
		if allowed {
			h.Set("Access-Control-Allow-Methods", methods)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key")
			h.Set("Access-Control-Max-Age", maxPreflightAge)
		}
		exchangeOf(r).route = "preflight"
		w.WriteHeader(http.StatusNoContent)
	})
}

// protectOrigin sets up the cross-origin check. Our own origin is named because a proxy may change the Host header.
func (s *Server) protectOrigin() error {
	s.crossOrigin = http.NewCrossOriginProtection()
	origin := s.PublicURL.Scheme + "://" + s.PublicURL.Host
	if err := s.crossOrigin.AddTrustedOrigin(origin); err != nil {
		return fmt.Errorf("public URL %s: %w", s.PublicURL, err)
	}
	return nil
}

// checkOrigin refuses a changing request that another site makes a browser send with our cookie.
func (s *Server) checkOrigin(c *call) error {
	r := c.request()
	if r.Header.Get("Cookie") == "" {
		return nil
	}
	if err := s.crossOrigin.Check(r); err != nil {
		return failure{code: api.CodeForbidden, detail: "This request came from a page of another site.", cause: err}
	}
	return nil
}
