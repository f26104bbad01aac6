package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// Nothing that lets one in is in the log: not at its most talkative, and not when it is refused.
func TestSecretsAreNeverLogged(t *testing.T) {
	t.Parallel()
	const clientSecret, redisPassword, databasePassword = "client-5ecret", "redis-5ecret", "database-5ecret"
	database, err := url.Parse(storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	database.User = url.UserPassword(database.User.Username(), databasePassword)
	redis := redistest.Start(t, "--requirepass", redisPassword)
	s := servertest.Start(t, servertest.Env{
		"LOG_LEVEL": "debug", "DATABASE_URL": database.String(), "OIDC_CLIENT_SECRET": clientSecret,
		"REDIS_URL": strings.Replace(redis.URL, "redis://", "redis://:"+redisPassword+"@", 1) + "?read_timeout=2s",
	})
	secrets := append(walkWithSecrets(t, s), clientSecret, redisPassword, databasePassword)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(s.Logs("request")) < 10 {
		t.Fatalf("%d requests were logged, so nothing is shown", len(s.Logs("request")))
	}
	for _, secret := range secrets {
		if n := s.CountLogs(secret); len(secret) < 8 || n > 0 {
			t.Errorf("%d lines of the log hold %q", n, secret)
		}
	}
}

// walkWithSecrets does what there is to do with credentials, good ones and bad ones, and returns all that it saw.
func walkWithSecrets(t *testing.T, s *servertest.Server) []string {
	t.Helper()
	bearer := s.Token("alice")
	secrets := []string{bearer, bearer[len(bearer)/2:]}
	forged := bearer[:len(bearer)-8] + "AAAAAAAA"
	for _, token := range []string{bearer, forged, "s3cret-that-is-no-token"} {
		s.Do(servertest.Request{Path: "/api/v1/me", Token: token})
		s.Do(servertest.Request{Path: "/api/v1/me?access_token=" + token})
		s.Do(servertest.Request{Method: http.MethodPost, Path: "/api/v1/auth/logout", Token: token})
		secrets = append(secrets, token)
	}
	b := newBrowser(t, s, "203.0.113.90")
	done := b.signIn("bob", "/")
	secrets = append(secrets, done.Request.URL.Query().Get("code"), done.Request.URL.Query().Get("state"))
	secrets = append(secrets, cookieValues(done)...)
	secrets = append(secrets, cookieValues(b.send(http.MethodPost, "/api/v1/auth/refresh", nil))...)
	b.send(http.MethodGet, "/api/v1/auth/callback?code=c0de-of-nobody&state=st4te-of-nobody", nil)
	b.send(http.MethodPost, "/api/v1/auth/logout", nil)
	s.Do(servertest.Request{Path: "/api/v1/me", Header: http.Header{"Cookie": {"session=c00kie-of-nobody"}}})
	return append(secrets, "c0de-of-nobody", "st4te-of-nobody", "c00kie-of-nobody")
}

func cookieValues(r servertest.Response) []string {
	var values []string
	for _, cookie := range r.Cookies() {
		if cookie.Value != "" {
			values = append(values, cookie.Value)
		}
	}
	return values
}
