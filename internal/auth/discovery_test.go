package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"
)

// TestDiscoveryPending: until the issuer has been discovered, nothing is said about tokens, and no sign-in begins.
func TestDiscoveryPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.set(func(i *issuer) { i.down = true })
		a, err := New(goodConfig(i, newClock().Now), nil)
		if err != nil {
			t.Fatal(err)
		}
		fault := a.Start(t.Context())
		time.Sleep(10 * time.Minute)
		if a.Ready() {
			t.Fatal("ready while the issuer is down")
		}
		if err := present(t, a, i.sign(t, "at+jwt", goodClaims())); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
			t.Errorf("a bearer token: %v, want ErrUnavailable alone", err)
		}
		if _, _, err := a.Login(t.Context(), "/", nil); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a sign-in: %v, want ErrUnavailable", err)
		}
		i.set(func(i *issuer) { i.down = false })
		time.Sleep(discoverMost)
		if !a.Ready() {
			t.Error("not ready a minute after the issuer is back")
		}
		if err, open := <-fault; open {
			t.Errorf("discovery ended with %v, want its channel closed", err)
		}
	})
}

// TestDiscoveryBacksOff: an hour's outage costs the issuer few requests.
func TestDiscoveryBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := &counted{next: &issuer{down: true}}
		a, err := New(goodConfig(asked, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		fault := a.Start(ctx)
		time.Sleep(time.Hour)
		cancel()
		if err, open := <-fault; open {
			t.Errorf("cancelled discovery ended with %v", err)
		}
		// 1, 2, 4 … 60 s, each between half and the whole: 60 to 120 an hour, and a few at the start.
		if n := len(asked.paths); n < 60 || n > 140 {
			t.Errorf("%d attempts in an hour", n)
		}
	})
}

// A counted transport remembers the paths that were asked for. It is not for concurrent use.
type counted struct {
	next  http.RoundTripper
	paths []string
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.paths = append(c.paths, r.URL.Path)
	return c.next.RoundTrip(r)
}

func TestIssuerThatNamesItselfOtherwise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.metadata = map[string]any{"issuer": testIssuerURL + "/"}
		a, err := New(goodConfig(i, newClock().Now), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = <-a.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), testIssuerURL+"/") || !strings.Contains(err.Error(), "OIDC_ISSUER") {
			t.Errorf("got %v, want an error with the issuer's own name and the setting", err)
		}
	})
}

func TestUnusableMetadata(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		metadata map[string]any
		want     string
	}{
		{"token endpoint over http", map[string]any{"token_endpoint": "http://issuer.example/token"}, "is not"},
		{"keys over http", map[string]any{"jwks_uri": "http://issuer.example/keys"}, "is not"},
		{"no key set", map[string]any{"jwks_uri": nil}, "no usable endpoint"},
		{"no authorization endpoint", map[string]any{"authorization_endpoint": "javascript:alert(1)"}, "no usable endpoint"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			i.metadata = test.metadata
			a, err := New(goodConfig(i, newClock().Now), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.discoverOnce(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestAuthStyle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, secret string
		methods      []string
		want         oauth2.AuthStyle
	}{
		{"confidential, nothing said", "s", nil, oauth2.AuthStyleInHeader},
		{"confidential, post only", "s", []string{"client_secret_post"}, oauth2.AuthStyleInParams},
		{"confidential, both", "s", []string{"client_secret_post", "client_secret_basic"}, oauth2.AuthStyleInHeader},
		{"public", "", nil, oauth2.AuthStyleInParams},
	}
	for _, test := range tests {
		a := &Auth{cfg: Config{ClientSecret: test.secret}}
		if got := a.authStyle(metadata{AuthMethods: test.methods}); got != test.want {
			t.Errorf("%s: style %v, want %v", test.name, got, test.want)
		}
	}
}

func TestIDTokenAlgorithms(t *testing.T) {
	t.Parallel()
	tests := []struct{ says, want []string }{
		{[]string{"ES256", "HS256", "none"}, []string{"ES256"}},
		{[]string{"HS256"}, []string{"RS256"}},
		{nil, []string{"RS256"}},
	}
	for _, test := range tests {
		if got := idTokenAlgorithms(metadata{Algorithms: test.says}); !slices.Equal(got, test.want) {
			t.Errorf("%q pins %q, want %q", test.says, got, test.want)
		}
	}
}

func TestConfigFaultsAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Issuer: "issuer", PublicURL: &url.URL{Path: "/"}, SessionIdle: -1}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"issuer", "client id", "audience", "clients", "public URL", "session"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name the %s: %v", want, err)
		}
	}
}
