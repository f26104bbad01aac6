package httpapi

import (
	"net/http"
	"net/url"
	"strings"
)

// bySegments has the router match a path by its segments where one of them holds a slash, escaped as %2F: the id of an IPv6
// network does. Every other path is matched as it reads unescaped, so that its spelling does not matter.
func bySegments(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawPath == "" {
			router.ServeHTTP(w, r)
			return
		}
		at := *r.URL
		at.RawPath = segmented(r.URL.RawPath)
		to := r.WithContext(r.Context())
		to.URL = &at
		router.ServeHTTP(w, to)
	})
}

// segmented is the path in the one spelling that tells its segments apart, "" where the unescaped path does.
func segmented(raw string) string {
	segments, apart := strings.Split(raw, "/"), true
	for i, segment := range segments {
		text, err := url.PathUnescape(segment)
		if err != nil {
			return "" // The server has unescaped it before.
		}
		apart = apart && !strings.Contains(text, "/")
		// What the router unescapes again; for it + is a space.
		segments[i] = strings.NewReplacer("%", "%25", "/", "%2F", "+", "%2B").Replace(text)
	}
	if apart {
		return ""
	}
	return strings.Join(segments, "/")
}
