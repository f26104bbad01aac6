package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

var (
	sessionToken = strings.Repeat("s", sessionTokenLen)
	bearerToken  = "aa.bb.cc"
)

func newRequest(tb testing.TB, cookie string, authorization ...string) *http.Request {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "https://app.example/", http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	r.Header["Authorization"] = authorization
	return r
}

func TestCredential(t *testing.T) {
	t.Parallel()
	session := "__Host-session=" + sessionToken
	tests := []struct {
		name          string
		cookie        string
		authorization []string
		want          Kind
		wantErr       error
	}{
		{name: "nothing"},
		{name: "other cookies", cookie: "theme=dark; session=" + sessionToken},
		{name: "session", cookie: "theme=dark; " + session, want: Session},
		{name: "empty session", cookie: "__Host-session=", want: Malformed},
		{name: "short session", cookie: "__Host-session=abc", want: Malformed},
		{name: "session of other characters", cookie: "__Host-session=" + strings.Repeat("+", sessionTokenLen), want: Malformed},
		{name: "session and one of another shape", cookie: "__Host-session=x; " + session + "; __Host-session=y", want: Session},
		{name: "two sessions", cookie: session + "; __Host-session=" + strings.Repeat("t", sessionTokenLen), want: Malformed},
		{name: "bearer", authorization: []string{"Bearer " + bearerToken}, want: Bearer},
		{name: "bearer in any case", authorization: []string{"bEARER   " + bearerToken}, want: Bearer},
		{name: "empty header", authorization: []string{""}, want: Malformed},
		{name: "empty bearer", authorization: []string{"Bearer"}, want: Malformed},
		{name: "blank bearer", authorization: []string{"Bearer  "}, want: Malformed},
		{name: "another scheme", authorization: []string{"Basic YTpi"}, want: Malformed},
		{name: "no scheme", authorization: []string{bearerToken}, want: Malformed},
		{name: "two headers", authorization: []string{"Bearer " + bearerToken, "Bearer " + bearerToken}, want: Malformed},
		{name: "two in one header", authorization: []string{"Bearer aa.bb.cc, Bearer aa.bb.cc"}, want: Malformed},
		{name: "encrypted token", authorization: []string{"Bearer a.b.c.d.e"}, want: Malformed},
		{name: "unsigned token", authorization: []string{"Bearer aa.bb."}, want: Malformed},
		{name: "longest token", authorization: []string{"Bearer a.b." + strings.Repeat("c", maxToken-4)}, want: Bearer},
		{name: "too long a token", authorization: []string{"Bearer a.b." + strings.Repeat("c", maxToken-3)}, want: Malformed},
		{name: "both", cookie: session, authorization: []string{"Bearer " + bearerToken}, wantErr: ErrTwoCredentials},
		{name: "both, the cookie bad", cookie: "__Host-session=x", authorization: []string{"Bearer " + bearerToken}, wantErr: ErrTwoCredentials},
		{name: "both, the header bad", cookie: session, authorization: []string{"Basic YTpi"}, wantErr: ErrTwoCredentials},
	}
	a := &Auth{cfg: goodConfig(nil, nil)}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := a.Credential(newRequest(t, test.cookie, test.authorization...))
			if got.Kind != test.want || !errors.Is(err, test.wantErr) {
				t.Errorf("got %v, %v; want kind %d, %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

// TestHopelessCredentialsCostNothing: neither a database nor an issuer is there to be asked.
func TestHopelessCredentialsCostNothing(t *testing.T) {
	t.Parallel()
	var a Auth
	for _, kind := range []Kind{None, Malformed} {
		if _, err := a.Authenticate(t.Context(), Credential{Kind: kind}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", kind, err)
		}
	}
}

func TestCredentialIsNotPrinted(t *testing.T) {
	t.Parallel()
	c := Credential{Kind: Bearer, token: "topsecret"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, c); strings.Contains(text, "topsecret") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

// FuzzCredential: whatever the headers hold, a request that carries one of ours is never anonymous, and what is taken
// for a credential has the right shape.
func FuzzCredential(f *testing.F) {
	f.Add("__Host-session="+sessionToken, "", false)
	f.Add("", "Bearer "+bearerToken, true)
	f.Add("__Host-session=\"x\"; a=b", "Basic x", true)
	f.Add("=;;__Host-session", "bearer \x00", true)
	a := &Auth{cfg: goodConfig(nil, nil)}
	f.Fuzz(func(t *testing.T, cookie, authorization string, has bool) {
		var headers []string
		if has {
			headers = []string{authorization}
		}
		r := newRequest(t, cookie, headers...)
		c, err := a.Credential(r)
		carries := has || len(r.CookiesNamed("__Host-session")) > 0
		switch {
		case err != nil && !errors.Is(err, ErrTwoCredentials):
			t.Fatalf("unknown error %v", err)
		case err == nil && (c.Kind != None) != carries:
			t.Fatalf("kind %v for cookie %q, authorization %q", c, cookie, headers)
		case c.Kind == Session && !isSessionToken(c.token), c.Kind == Bearer && !isJWT(c.token):
			t.Fatalf("%v of the wrong shape: %q", c, c.token)
		case len(c.token) > maxToken:
			t.Fatalf("a token of %d bytes", len(c.token))
		}
	})
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for scheme, secure := range map[string]bool{"https": true, "http": false} {
		a := &Auth{cfg: Config{PublicURL: &url.URL{Scheme: scheme, Host: "app.example"}}}
		session, login := a.sessionCookie(sessionToken, loginFor), a.loginCookie("state", loginFor)
		for _, c := range []*http.Cookie{session, login} {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != secure || c.Domain != "" || c.MaxAge != 600 {
				t.Errorf("%s: %v", scheme, c)
			}
			if err := c.Valid(); err != nil {
				t.Error(err)
			}
		}
		if strings.HasPrefix(session.Name, "__Host-") != secure || session.Path != "/" || login.Path != callbackPath {
			t.Errorf("%s: session %v, login %v", scheme, session, login)
		}
		if gone := a.sessionCookie("", 0); gone.MaxAge != -1 || gone.Value != "" {
			t.Errorf("%s: a cleared cookie is %v", scheme, gone)
		}
	}
}
