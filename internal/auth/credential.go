package auth

import (
	"net/http"
	"strings"
)

const (
	// maxToken is the longest bearer token that is looked at, in bytes. Issuers' access tokens are 1 to 4 KiB; a longer
	// one is refused before anything decodes it.
	maxToken = 8 << 10
	// sessionTokenLen is the length of a session token: 32 random bytes in unpadded base64url.
	sessionTokenLen = 43
)

// A Kind is what sort of credential a request carries.
type Kind uint8

const (
	// None is a request without a credential.
	None Kind = iota
	// Session is a session cookie of the right shape.
	Session
	// Bearer is one bearer token of the right shape.
	Bearer
	// Malformed is something that claims to be a credential and cannot be one, so that it fails without any look-up. It is
	// never taken for None: a caller who meant to sign in must hear that it failed.
	Malformed
)

// A Credential is what a request carries to say who is calling. Its zero value is None. Printing it shows its kind alone.
type Credential struct {
	Kind  Kind
	token string
}

// String names the kind and never the token.
func (c Credential) String() string {
	return [...]string{"no credential", "session cookie", "bearer token", "malformed credential"}[c.Kind]
}

// GoString keeps the token out of %#v.
func (c Credential) GoString() string { return c.String() }

// Credential reads the credential of a request without judging it. The only error is ErrTwoCredentials.
func (a *Auth) Credential(r *http.Request) (Credential, error) {
	session := a.sessionCredential(r)
	headers := r.Header.Values("Authorization")
	switch {
	case len(headers) == 0:
		return session, nil
	case session.Kind != None:
		return Credential{}, ErrTwoCredentials
	case len(headers) > 1:
		return Credential{Kind: Malformed}, nil
	}
	return bearerCredential(headers[0]), nil
}

// sessionCredential reads the session cookie. Browsers send several cookies of one name when others of the host set
// them for a narrower path; the one of the right shape is meant, two of that shape cannot be told apart.
func (a *Auth) sessionCredential(r *http.Request) Credential {
	found := Credential{}
	for _, cookie := range r.CookiesNamed(a.sessionCookieName()) {
		switch {
		case !isSessionToken(cookie.Value) && found.Kind == None:
			found = Credential{Kind: Malformed}
		case isSessionToken(cookie.Value) && found.Kind == Session:
			return Credential{Kind: Malformed}
		case isSessionToken(cookie.Value):
			found = Credential{Kind: Session, token: cookie.Value}
		}
	}
	return found
}

func bearerCredential(header string) Credential {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || !isJWT(token) {
		return Credential{Kind: Malformed}
	}
	return Credential{Kind: Bearer, token: token}
}

func isSessionToken(text string) bool {
	return len(text) == sessionTokenLen && strings.Trim(text, base64url) == ""
}

// isJWT says whether text has the shape of a signed token: three base64url parts, none empty. An unsigned token (alg
// none) has an empty third part; an encrypted one has five.
func isJWT(text string) bool {
	if len(text) > maxToken {
		return false
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.Trim(part, base64url) != "" {
			return false
		}
	}
	return true
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
