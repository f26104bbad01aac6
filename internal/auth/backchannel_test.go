package auth

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func logoutClaims(now time.Time) map[string]any {
	return map[string]any{
		"iss": testIssuerURL, "aud": "web", "sub": "alice", "jti": "logout-1", "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(),
		"events": map[string]any{logoutEvent: map[string]any{}},
	}
}

// TestBadLogoutTokens has no database, so that a token which got past the checks would panic.
func TestBadLogoutTokens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		typ    string
		change map[string]any // A nil value takes the claim out.
	}{
		{name: "an access token", typ: "at+jwt", change: map[string]any{"aud": testAudience}},
		{name: "a logout token that says at+jwt", typ: "at+jwt"},
		{name: "an ID token", typ: "JWT", change: map[string]any{"events": nil, "nonce": "n"}},
		{name: "a nonce", change: map[string]any{"nonce": "n"}},
		{name: "no events", change: map[string]any{"events": nil}},
		{name: "another event", change: map[string]any{"events": map[string]any{"https://example.com/event": map[string]any{}}}},
		{name: "an event that is no object", change: map[string]any{"events": map[string]any{logoutEvent: true}}},
		{name: "an event that is null", change: map[string]any{"events": map[string]any{logoutEvent: nil}}},
		{name: "another issuer", change: map[string]any{"iss": "https://evil.example"}},
		{name: "another client", change: map[string]any{"aud": "mobile"}},
		{name: "neither sub nor sid", change: map[string]any{"sub": nil}},
		{name: "sub with a NUL", change: map[string]any{"sub": "alice\x00"}},
		{name: "sid of 256 bytes", change: map[string]any{"sid": strings.Repeat("s", 256)}},
		{name: "no jti", change: map[string]any{"jti": nil}},
		{name: "jti of 256 bytes", change: map[string]any{"jti": strings.Repeat("j", 256)}},
		{name: "no iat", change: map[string]any{"iat": nil}},
		{name: "from the future", change: map[string]any{"iat": start().Add(31 * time.Second).Unix()}},
		{name: "issued long ago", change: map[string]any{"iat": start().Add(-logoutFresh - 31*time.Second).Unix()}},
		{name: "no exp", change: map[string]any{"exp": nil}},
		{name: "expired", change: map[string]any{"exp": start().Add(-31 * time.Second).Unix()}},
		{name: "too long", change: map[string]any{"padding": strings.Repeat("x", maxToken)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := newIssuer(t)
			a := newAuth(t, goodConfig(i, newClock().Now))
			claims := logoutClaims(start())
			maps.Copy(claims, test.change)
			for name, value := range test.change {
				if value == nil {
					delete(claims, name)
				}
			}
			typ := test.typ
			if typ == "" {
				typ = "logout+jwt"
			}
			if err := a.ObeyLogout(t.Context(), i.sign(t, typ, claims)); !errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnavailable) {
				t.Errorf("got %v, want ErrInvalid alone", err)
			}
		})
	}
}

func TestForgedLogoutTokens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	a := newAuth(t, goodConfig(i, newClock().Now))
	another := newTestKey(t, "first")
	for name, token := range map[string]string{
		"empty": "", "garbage": "garbage", "three parts of nothing": "a.b.c",
		"signed by another's key": signWith(t, "ES256", &another, "logout+jwt", logoutClaims(start())),
		"HS256":                   signWith(t, "HS256", []byte(strings.Repeat("secret", 8)), "logout+jwt", logoutClaims(start())),
	} {
		if err := a.ObeyLogout(t.Context(), token); !errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want ErrInvalid alone", name, err)
		}
	}
}

// A token is obeyed once, by whichever process gets it.
func TestObeyLogoutOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for _, typ := range []string{"logout+jwt", "JWT", ""} {
		i := newIssuer(t)
		one, two := withStore(t, i, s), withStore(t, i, s)
		claims := logoutClaims(time.Now())
		claims["jti"] = "logout of type " + typ
		token := i.sign(t, typ, claims)
		if err := one.ObeyLogout(t.Context(), token); err != nil {
			t.Fatalf("type %q: %v", typ, err)
		}
		for name, a := range map[string]*Auth{"the same process": one, "another": two} {
			if err := a.ObeyLogout(t.Context(), token); !errors.Is(err, ErrInvalid) {
				t.Errorf("again in %s: %v, want ErrInvalid", name, err)
			}
		}
	}
}

// withStore is an Auth that follows what is revoked.
func withStore(t *testing.T, i *issuer, s *store.Store) *Auth {
	t.Helper()
	a, err := New(goodConfig(i, nil), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.discover(context.Background()); err != nil {
		t.Fatal(err)
	}
	follow(t, a)
	return a
}

// What cannot be checked or obeyed now is not used up: the issuer may send it again.
func TestObeyLogoutInAnOutage(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	s := storetest.New(t)
	fresh, err := New(goodConfig(i, nil), s)
	if err != nil {
		t.Fatal(err)
	}
	token := i.sign(t, "logout+jwt", logoutClaims(time.Now()))
	if err := fresh.ObeyLogout(t.Context(), token); !errors.Is(err, ErrUnavailable) {
		t.Errorf("before discovery: %v, want ErrUnavailable", err)
	}
	if err := fresh.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.set(func(i *issuer) { i.down = true })
	if err := fresh.ObeyLogout(t.Context(), token); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
		t.Errorf("without keys: %v, want ErrUnavailable alone", err)
	}
	i.set(func(i *issuer) { i.down = false })
	// go-oidc tells those who wait for keys how their fetch ended a moment before it forgets it: who asks in between is told the same.
	err = fresh.ObeyLogout(t.Context(), token)
	for tries := 1; errors.Is(err, ErrUnavailable) && tries < 1000; tries++ {
		runtime.Gosched()
		err = fresh.ObeyLogout(t.Context(), token)
	}
	if err != nil {
		t.Errorf("afterwards: %v", err)
	}
	s.Close()
	again := logoutClaims(time.Now())
	again["jti"] = "logout-2"
	if err := fresh.ObeyLogout(t.Context(), i.sign(t, "logout+jwt", again)); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
		t.Errorf("without the database: %v, want ErrUnavailable alone", err)
	}
}

// A sid ends the sessions that came from it and refuses its tokens; a sub alone ends everything of the user.
func TestObeyLogout(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	a := withStore(t, i, storetest.New(t))
	b := &webBundle{auth: a}
	token := func(jti, sid string) Credential {
		claims := goodClaims()
		claims["jti"], claims["sid"], claims["iat"], claims["exp"] = jti, sid, time.Now().Unix(), time.Now().Add(time.Hour).Unix()
		return bearerCredential("Bearer " + i.sign(t, "at+jwt", claims))
	}
	phone, tablet := token("1", "phone"), token("2", "tablet")
	obey := func(change map[string]any) {
		t.Helper()
		claims := logoutClaims(time.Now())
		maps.Copy(claims, change)
		if err := a.ObeyLogout(t.Context(), i.sign(t, "logout+jwt", claims)); err != nil {
			t.Fatal(err)
		}
	}
	obey(map[string]any{"sid": "phone"})
	b.wantRefused(t, map[string]Credential{"the session's token": phone}, true)
	b.wantRefused(t, map[string]Credential{"another session's": tablet}, false)
	obey(map[string]any{"jti": "logout-2"})
	b.wantRefused(t, map[string]Credential{"each of the user's": tablet}, true)
}
