package devidp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
)

// codeFor is how long a code may be changed for tokens.
const codeFor = time.Minute

// scopes are those that mean something here; others are ignored, as OpenID Connect has it.
func scopes() []string { return []string{"openid", "profile", "email", "offline_access"} }

// An authRequest is a checked authorization request.
type authRequest struct {
	client   Client
	redirect string
	state    string
	grant    grant
}

// A fault is an error of an authorization request that its client is told by a redirect.
type fault struct{ code, description string }

// serveAuthorize shows the page of people, and sends the one who was picked back with a code.
func (p *Provider) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	values, err := form(r)
	if err != nil {
		p.writeFaultPage(w, err.Error())
		return
	}
	request, problem := p.readTarget(values)
	if problem != "" {
		p.writeFaultPage(w, problem)
		return
	}
	if fault := request.read(values); fault != nil {
		p.redirect(w, request, url.Values{"error": {fault.code}, "error_description": {fault.description}})
		return
	}
	if r.Method == http.MethodGet {
		p.writePeoplePage(w, request, values)
		return
	}
	p.pick(w, r, request, values.Get("person"))
}

// readTarget checks where the answer may go. Until that is known nothing is redirected; a problem is shown instead.
func (p *Provider) readTarget(values url.Values) (request authRequest, problem string) {
	client, ok := p.client(values.Get("client_id"))
	if !ok {
		return authRequest{}, "The client_id is missing or unknown."
	}
	redirect := values.Get("redirect_uri")
	if !client.allowsRedirect(redirect) {
		return authRequest{}, "The redirect_uri is not one of those registered for this client."
	}
	return authRequest{client: client, redirect: redirect, state: values.Get("state")}, ""
}

// read checks the rest of the request.
func (a *authRequest) read(values url.Values) *fault {
	a.grant = grant{
		Client: a.client.ID, Redirect: a.redirect, Nonce: values.Get("nonce"),
		Challenge: values.Get("code_challenge"), Scope: knownScopes(values.Get("scope")),
	}
	switch {
	case values.Has("request") || values.Has("request_uri"):
		return &fault{"request_not_supported", "request objects are not supported"}
	case values.Get("response_type") != "code":
		return &fault{"unsupported_response_type", "response_type must be code"}
	case values.Has("response_mode") && values.Get("response_mode") != "query":
		return &fault{"invalid_request", "response_mode must be query"}
	case values.Get("code_challenge_method") != "S256" || !isChallenge(a.grant.Challenge):
		return &fault{"invalid_request", "PKCE is required, with code_challenge_method S256"}
	case slices.Contains(strings.Fields(values.Get("prompt")), "none"):
		return &fault{"login_required", "the development issuer keeps nobody signed in"}
	}
	return nil
}

// isChallenge says whether text is a base64url SHA-256.
func isChallenge(text string) bool {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

func knownScopes(scope string) string {
	known := slices.DeleteFunc(strings.Fields(scope), func(s string) bool { return !slices.Contains(scopes(), s) })
	return strings.Join(known, " ")
}

// pick makes a code for the person and redirects with it.
func (p *Provider) pick(w http.ResponseWriter, r *http.Request, request authRequest, person string) {
	if _, ok := personByID(person); !ok {
		p.writeFaultPage(w, "There is no such person.")
		return
	}
	request.grant.Person, request.grant.AuthTime = person, p.cfg.Now().Unix()
	code, err := p.putSecret(r.Context(), codeKind, uuid.New(), request.grant, codeFor)
	if err != nil {
		p.unavailable(w, r, err)
		return
	}
	p.redirect(w, request, url.Values{"code": {code}})
}

// redirect sends an answer to the client, with state and the issuer's name (RFC 9207).
func (p *Provider) redirect(w http.ResponseWriter, request authRequest, answer url.Values) {
	answer.Set("iss", p.cfg.Issuer)
	if request.state != "" {
		answer.Set("state", request.state)
	}
	w.Header().Set("Location", withQuery(request.redirect, answer))
	w.WriteHeader(http.StatusSeeOther)
}

// withQuery adds parameters to a URL that was registered, and so is known to parse.
func withQuery(target string, add url.Values) string {
	separator := "?"
	if strings.Contains(target, "?") {
		separator = "&"
	}
	return target + separator + add.Encode()
}

// The kinds of grant in the database. An access token is a signed token, known by its jti: it is there so that
// revoking its family can be seen at the userinfo endpoint.
const (
	codeKind    = "code"
	refreshKind = "refresh"
	accessKind  = "access"
)

// A grant is what a code or a refresh token stands for.
type grant struct {
	Client    string `json:"client"`
	Person    string `json:"person"`
	Scope     string `json:"scope"`
	Redirect  string `json:"redirect,omitempty"`
	Challenge string `json:"challenge,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	// AuthTime is when the person was picked, in seconds since 1970.
	AuthTime int64 `json:"authTime"`
}

// putSecret keeps a grant under a fresh secret, of which the database has only the hash.
func (p *Provider) putSecret(ctx context.Context, kind string, family uuid.UUID, g grant, life time.Duration) (string, error) {
	secret := randomToken()
	return secret, p.putGrant(ctx, kind, secret, family, g, life)
}

// putGrant keeps a grant. All that descends from one code is one family; errGrant says that it was revoked meanwhile.
func (p *Provider) putGrant(ctx context.Context, kind, secret string, family uuid.UUID, g grant, life time.Duration) error {
	payload, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	err = p.store.PutIDPGrant(ctx, store.IDPGrant{Kind: kind, Hash: hashOf(secret), Family: family, Payload: payload}, life)
	if errors.Is(err, store.ErrConflict) {
		return errGrant
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", kind, err)
	}
	return nil
}

func randomToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
