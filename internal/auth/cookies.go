package auth

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"time"
)

const (
	// loginFor is how long a sign-in may take at the issuer's page.
	loginFor = 10 * time.Minute
	// loginPath is where the login cookie is sent: to the callback alone.
	loginPath = callbackPath
)

// sessionCookieName has the __Host- prefix under https: no other host of the domain can set such a cookie.
func (a *Auth) sessionCookieName() string {
	if a.cfg.secure() {
		return "__Host-session"
	}
	return "session"
}

// loginCookieName cannot have the __Host- prefix, which demands the path "/".
func (a *Auth) loginCookieName() string {
	if a.cfg.secure() {
		return "__Secure-login"
	}
	return "login"
}

// cookie makes a cookie that scripts cannot read and that other sites' requests do not carry, except when they
// navigate here. Strict would not survive the way back from the issuer. A life of 0 or less ends the cookie.
func (a *Auth) cookie(name, path, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure follows the public URL: over plain http a browser would drop the cookie
		Name: name, Value: value, Path: path, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: a.cfg.secure(), SameSite: http.SameSiteLaxMode,
	}
	if c.MaxAge <= 0 {
		c.Value, c.MaxAge = "", -1
	}
	return c
}

func (a *Auth) sessionCookie(token string, life time.Duration) *http.Cookie {
	return a.cookie(a.sessionCookieName(), "/", token, life)
}

func (a *Auth) loginCookie(state string, life time.Duration) *http.Cookie {
	return a.cookie(a.loginCookieName(), loginPath, state, life)
}

// randomToken is 32 random bytes in base64url: a session token, state or nonce.
func randomToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}
