package app_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/gatehouse/internal/app"
	"example.com/gatehouse/internal/servertest"
)

func getenv(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// What cannot start says why, and what to do.
func TestClearFaults(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	cases := map[string]struct {
		args []string
		env  map[string]string
		want []string
	}{
		"a taken port": {
			[]string{"serve"},
			map[string]string{"APP_ENV": "development", "HTTP_ADDR": taken.Addr().String(), "ADMIN_ADDR": "127.0.0.1:0"},
			[]string{"HTTP_ADDR", taken.Addr().String(), "taken"},
		},
		"production by default": {nil, nil, []string{"PUBLIC_URL", "DATABASE_URL", "OIDC_ISSUER"}},
		"all that needs no network, at once": {
			nil,
			map[string]string{
				"APP_ENV": "development", "SESSION_IDLE": "400h", "LOG_LEVEL": "loud", "DATABASE_URL": "postgres://127.0.0.1:1/app?sslmode=perhaps",
				"DATABASE_DIRECT_URL": "postgres://127.0.0.1:1/app?connect_timeout=never", "REDIS_URL": "redis://127.0.0.1:1/first",
				"BUDGETS_FILE": "nowhere.json", "OTEL_TRACES_EXPORTER": "pigeon",
			},
			[]string{
				"SESSION_IDLE", "LOG_LEVEL", "DATABASE_URL: ", "DATABASE_DIRECT_URL: ", "REDIS_URL: ", "redis://host:port/0", "BUDGETS_FILE: ", "nowhere.json",
				"OTEL_TRACES_EXPORTER",
			},
		},
		"unknown subcommand":   {[]string{"start"}, nil, []string{`"start"`, "serve", "migrate", "token"}},
		"too many arguments":   {[]string{"serve", "now"}, nil, []string{`"now"`}},
		"token without a name": {[]string{"token"}, nil, []string{"usage", "alice"}},
		"unknown person":       {[]string{"token", "mallory"}, nil, []string{"mallory", "alice"}},
		"nobody listens there": {[]string{"token", "alice"}, map[string]string{"HTTP_ADDR": "127.0.0.1:1"}, []string{"http://localhost:1", "make run"}},
		"no address":           {[]string{"token", "alice"}, map[string]string{"HTTP_ADDR": "nowhere"}, []string{"HTTP_ADDR"}},
		"nobody listens":       {[]string{"token", "alice", "-url", "http://127.0.0.1:1"}, nil, []string{"127.0.0.1:1", "make run"}},
		"migrate without a database": {
			[]string{"migrate"}, map[string]string{"APP_ENV": "development"}, []string{"DATABASE_URL"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := app.Run(t.Context(), c.args, getenv(c.env), &bytes.Buffer{})
			if err == nil {
				t.Fatal("it succeeded")
			}
			for _, word := range c.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q:\n%v", word, err)
				}
			}
		})
	}
}

// In production it is said that the admin address answers others, and what to do; nowhere else, and not of the machine's own.
func TestOpenAdminAddrIsWarnedOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env, addr string
		want      int
	}{
		"for all": {"production", ":0", 1}, "for this machine": {"production", "127.0.0.1:0", 0}, "in development": {"development", ":0", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var log bytes.Buffer
			env := map[string]string{
				"APP_ENV": test.env, "HTTP_ADDR": "127.0.0.1:0", "ADMIN_ADDR": test.addr, "LOG_FORMAT": "json", "DATABASE_URL": "postgres://app@127.0.0.1:1/app",
				"PUBLIC_URL": "https://app.example.com", "OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_SECRET": "s3cret", "OIDC_ORG_CLAIM": "-", "SHUTDOWN_DRAIN": "0s",
			}
			// There is no database there; that it is waited for comes after what is warned of.
			if err := app.Run(ctx, nil, getenv(env), endAt{&log, "the database does not answer", cancel}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(log.String(), "ADMIN_ADDR answers other machines"); got != test.want {
				t.Errorf("it was said %d times, want %d:\n%s", got, test.want, &log)
			}
		})
	}
}

// A database that answers and lets the server not in is waited for too, and the log says what is to be mended, and where.
func TestDatabaseThatRefuses(t *testing.T) {
	t.Parallel()
	database := servertest.NewDatabase(t)
	locked := newRole(t, database)
	locked.allow(t, false)
	missing, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	missing.Path = "/missing"
	for name, c := range map[string]struct{ setting, url, why string }{
		"no such database":     {"DATABASE_URL", missing.String(), "there is no such database"},
		"no such user's login": {"DATABASE_URL", locked.url, "there is no such user, or it may not log in"},
		"past a pooler":        {"DATABASE_DIRECT_URL", missing.String(), "there is no such database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			env := map[string]string{
				"APP_ENV": "development", "HTTP_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "127.0.0.1:0", "LOG_FORMAT": "json", "DATABASE_URL": database,
			}
			env[c.setting] = c.url
			var log bytes.Buffer
			if err := app.Run(ctx, nil, getenv(env), endAt{&log, "the database answers, but does not let this server in; trying again", cancel}); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`"why":"` + c.why, `"fix":"mend ` + c.setting + `, or the database"`} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log does not say %s:\n%s", want, &log)
				}
			}
			if strings.Contains(log.String(), "does not answer") {
				t.Errorf("it is said that it does not answer:\n%s", &log)
			}
		})
	}
}

// endAt is a log that ends the program at a message.
type endAt struct {
	*bytes.Buffer
	message string
	end     func()
}

func (e endAt) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(e.message)) {
		e.end()
	}
	return e.Buffer.Write(p)
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := app.Run(t.Context(), []string{"--help"}, getenv(nil), &out); err != nil || !strings.Contains(out.String(), "healthcheck") {
		t.Errorf("%v: %s", err, &out)
	}
}

// A token is asked for where the settings have the server.
func TestTokenFollowsTheSettings(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for name, env := range map[string]map[string]string{
		"the address":    {"HTTP_ADDR": ":" + port},
		"the public URL": {"HTTP_ADDR": ":1", "PUBLIC_URL": s.URL},
	} {
		var out bytes.Buffer
		if err := app.Run(t.Context(), []string{"token", "alice"}, getenv(env), &out); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		me(t, s, strings.TrimSpace(out.String()))
	}
}

func TestRoutesCommand(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := app.Run(t.Context(), []string{"routes"}, getenv(nil), &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"auth.refresh", "POST", "/api/v1/auth/refresh", "30 requests per 60s", "user, org", "100 requests per 60s"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing:\n%s", line, &out)
		}
	}
}

// A stop says "not ready" first and goes on serving for the drain, so that a load balancer loses no request.
func TestShutdownDrains(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Env{"SHUTDOWN_DRAIN": "2s"})
	want(t, s.Do(servertest.Request{Path: "/readyz"}), http.StatusOK)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop() }()
	s.AwaitLog("shutting down")
	ready := s.Do(servertest.Request{Path: "/readyz"})
	if want(t, ready, http.StatusServiceUnavailable); string(ready.Body) != "draining\n" {
		t.Errorf("readyz says %q", ready.Body)
	}
	want(t, s.Do(servertest.Request{Path: "/livez"}), http.StatusOK)
	want(t, s.Do(servertest.Request{Path: "/api/v1/limits"}), http.StatusOK)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
