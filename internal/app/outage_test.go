package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
)

// An outage is a part that is down, and a server that has lived to see it.
type outage struct {
	name  string
	begin func(*testing.T) (*servertest.Server, *visitors)
}

// visitors are callers who had what they come with before the outage began.
type visitors struct {
	issuer  *foreignIssuer
	reader  browser // Signed in, as are the next two.
	renewer browser
	leaver  browser
	comer   browser // On the way back from the issuer, to back.
	back    string
	token   string // Of an administrator.
	ending  string // A token to log out with.
}

// newVisitors signs everybody in at a server that works.
func newVisitors(t *testing.T, issuer *foreignIssuer, s *servertest.Server) *visitors {
	t.Helper()
	v := &visitors{issuer: issuer, token: issuer.tokens(t, "mobile").AccessToken, ending: issuer.tokens(t, "mobile").AccessToken}
	begin := func(b browser) string {
		return follow(t, b.login("/tasks"), foreignPublic+"/api/v1/auth/callback").RequestURI()
	}
	for i, b := range []*browser{&v.reader, &v.renewer, &v.leaver} {
		*b = newBrowser(t, s, fmt.Sprint("203.0.113.", 1+i))
		want(t, b.send("GET", begin(*b), nil), http.StatusSeeOther)
	}
	v.comer = newBrowser(t, s, "203.0.113.4")
	v.back = begin(v.comer)
	want(t, s.Do(servertest.Request{Path: "/api/v1/me", Token: v.token}), http.StatusOK)
	return v
}

// at has the visitors come to another server of the same name.
func (v *visitors) at(s *servertest.Server) *visitors {
	for _, b := range []*browser{&v.reader, &v.renewer, &v.leaver, &v.comer} {
		b.s = s
	}
	return v
}

func partsThatFail() []outage {
	healthy := func(t *testing.T, env ...servertest.Env) (*servertest.Server, *visitors) {
		t.Helper()
		issuer := startForeignIssuer(t)
		s := servertest.Start(t, append([]servertest.Env{issuer.env()}, env...)...)
		return s, newVisitors(t, issuer, s)
	}
	return []outage{
		{"Redis", func(t *testing.T) (*servertest.Server, *visitors) {
			t.Helper()
			redis := redistest.Start(t)
			s, v := healthy(t, servertest.Env{"REDIS_URL": redis.URL + "?read_timeout=2s"})
			redis.Kill()
			return s, v
		}},
		{"PostgreSQL", func(t *testing.T) (*servertest.Server, *visitors) {
			t.Helper()
			database := servertest.NewDatabase(t)
			s, v := healthy(t, servertest.Env{"DATABASE_URL": database})
			accept(t, database, false)
			return s, v
		}},
		{"the issuer, from the start", func(t *testing.T) (*servertest.Server, *visitors) {
			t.Helper()
			database := servertest.Env{"DATABASE_URL": servertest.NewDatabase(t)}
			_, v := healthy(t, database)
			v.issuer.down.Store(true)
			s := servertest.StartBeforeDiscovery(t, v.issuer.env(), database)
			return s, v.at(s)
		}},
		{"the issuer, later", func(t *testing.T) (*servertest.Server, *visitors) {
			t.Helper()
			s, v := healthy(t)
			v.issuer.down.Store(true)
			return s, v
		}},
	}
}

// A visit is a row of the table: a request, and who sends it.
type visit struct {
	name string
	send func(*testing.T, *servertest.Server, *visitors) servertest.Response
}

func visits() []visit {
	plain := func(name string, request servertest.Request) visit {
		return visit{name, func(_ *testing.T, s *servertest.Server, _ *visitors) servertest.Response { return s.Do(request) }}
	}
	bearer := func(name string, request servertest.Request, token func(*visitors) string) visit {
		return visit{name, func(_ *testing.T, s *servertest.Server, v *visitors) servertest.Response {
			request.Token = token(v)
			return s.Do(request)
		}}
	}
	web := func(name, method, path string, who func(*visitors) browser) visit {
		return visit{name, func(_ *testing.T, _ *servertest.Server, v *visitors) servertest.Response {
			return who(v).send(method, path, nil)
		}}
	}
	me, logout := servertest.Request{Path: "/api/v1/me"}, servertest.Request{Method: "POST", Path: "/api/v1/auth/logout"}
	good := func(v *visitors) string { return v.token }
	return []visit{
		web("user, with a session", "GET", "/api/v1/me", func(v *visitors) browser { return v.reader }),
		bearer("user, with a token", me, good),
		bearer("user, with a token whose signature is bad", me, func(v *visitors) string { return v.token[:len(v.token)-8] + "AAAAAAAA" }),
		plain("user, without a credential", me),
		bearer("admin, with a token", servertest.Request{Path: "/api/v1/admin/plans"}, good),
		bearer("limits.get, with a token", servertest.Request{Path: "/api/v1/limits"}, good),
		plain("limits.get, without a credential", servertest.Request{Path: "/api/v1/limits"}),
		plain("openapi.get", servertest.Request{Path: "/api/v1/openapi.json"}),
		web("auth.refresh, with a session", "POST", "/api/v1/auth/refresh", func(v *visitors) browser { return v.renewer }),
		plain("auth.login", servertest.Request{Path: "/api/v1/auth/login", From: "203.0.113.5"}),
		{"auth.callback, of a sign-in under way", func(_ *testing.T, _ *servertest.Server, v *visitors) servertest.Response {
			return v.comer.send("GET", v.back, nil)
		}},
		plain("auth.callback, of no sign-in", servertest.Request{Path: "/api/v1/auth/callback?state=x&code=y"}),
		{"auth.backchannel", func(t *testing.T, s *servertest.Server, v *visitors) servertest.Response {
			t.Helper()
			header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
			body := "logout_token=" + v.issuer.logoutToken(t, "a session of nobody's")
			return s.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/backchannel", Body: body, Header: header})
		}},
		web("auth.logout, with a session", "POST", "/api/v1/auth/logout", func(v *visitors) browser { return v.leaver }),
		bearer("auth.logout, with a token", logout, func(v *visitors) string { return v.ending }),
		plain("auth.logout, without a credential", logout),
		plain("`/livez`", servertest.Request{Path: "/livez"}),
		plain("`/readyz`", servertest.Request{Path: "/readyz"}),
		plain("the page", servertest.Request{Path: "/"}),
	}
}

// The table of docs/operations.md says what every kind of route answers while something is down; each cell is tried.
func TestOutages(t *testing.T) {
	t.Parallel()
	columns := make([][]string, len(partsThatFail()))
	t.Cleanup(func() { // When all columns are there.
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
		if err != nil {
			t.Fatal(err)
		}
		if table := outageTable(columns); !strings.Contains(string(page), table) {
			t.Errorf("docs/operations.md does not have this table:\n%s", table)
		}
	})
	for i, o := range partsThatFail() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			s, v := o.begin(t)
			for _, visit := range visits() {
				resp := visit.send(t, s, v)
				// A machine that is too busy to count in time is not what is tried here.
				for tries := 0; o.name != "PostgreSQL" && tries < 20 && bytes.Contains(resp.Body, []byte(api.CodeLimiterUnavailable)); tries++ {
					resp = visit.send(t, s, v)
				}
				columns[i] = append(columns[i], cell(t, resp))
			}
		})
	}
}

// cell is an answer in short: its status, and the code of a 503 or where a 303 leads.
func cell(t *testing.T, resp servertest.Response) string {
	t.Helper()
	switch resp.StatusCode {
	case http.StatusServiceUnavailable:
		if resp.Header.Get("Retry-After") != "5" {
			t.Errorf("%s: Retry-After is %q", resp.Request.URL.Path, resp.Header.Get("Retry-After"))
		}
		return "503 `" + string(servertest.JSON[api.Problem](t, resp).Code) + "`"
	case http.StatusSeeOther:
		return "303 `" + resp.Header.Get("Location") + "`"
	}
	return fmt.Sprint(resp.StatusCode)
}

func outageTable(columns [][]string) string {
	var b strings.Builder
	b.WriteString("| route |")
	for _, o := range partsThatFail() {
		b.WriteString(" " + o.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for row, visit := range visits() {
		b.WriteString("| " + visit.name + " |")
		for _, column := range columns {
			if row < len(column) {
				b.WriteString(" " + column[row] + " |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
