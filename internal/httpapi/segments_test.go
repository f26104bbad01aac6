package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

// A segment may hold an escaped slash, and is then one segment still; otherwise a path's spelling does not matter.
func TestBySegments(t *testing.T) {
	t.Parallel()
	quietGin()
	engine := gin.New()
	engine.UseRawPath = true
	for _, path := range []string{"/limits/:id", "/limits/:id/:budget", "/tasks/parse"} {
		engine.GET(path, func(c *gin.Context) {
			c.String(http.StatusOK, "%s %q %q", c.FullPath(), c.Param("id"), c.Param("budget"))
		})
	}
	for path, want := range map[string]string{
		"/limits/2001:db8::%2F64":          `/limits/:id "2001:db8::/64" ""`,
		"/limits/2001%3Adb8%3A%3A%2f64":    `/limits/:id "2001:db8::/64" ""`,
		"/limits/2001:db8::/64":            `/limits/:id/:budget "2001:db8::" "64"`,
		"/limits/2001:db8::%2F64/auth.%6c": `/limits/:id/:budget "2001:db8::/64" "auth.l"`,
		"/limits/a+b%2F%252F%2B%20%3F":     `/limits/:id "a+b/%2F+ ?" ""`,
		"/limits/a+b%20":                   `/limits/:id "a+b " ""`,
		"/limits/%25":                      `/limits/:id "%" ""`,
		"/tasks/%70arse":                   `/tasks/parse "" ""`,
		"/tasks%2Fparse":                   "404 page not found",
	} {
		w := httptest.NewRecorder()
		bySegments(engine).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if got := w.Body.String(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func FuzzSegmented(f *testing.F) {
	f.Add("/limits/2001:db8::%2F64")
	f.Add("%zz//%2f")
	f.Fuzz(func(_ *testing.T, raw string) { segmented(raw) })
}
