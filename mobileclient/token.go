package mobileclient

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Token is a bearer token.
type Token struct {
	Value string
	// Subject says whose token it is, so that the slots of another person are kept apart. Where it is empty the issuer
	// and subject of a JWT are used; an opaque token without one is taken to be the same person's as the one before.
	Subject string
	// ExpiresIn is how long the token is good for, from when the source was asked, as OAuth's expires_in. It is a span
	// because this machine's clock may be wrong. 0 means until the server refuses it.
	ExpiresIn time.Duration
}

// A TokenSource gives a token that is good now. It is asked by one goroutine at a time, with a context that outlives the
// call that needed it: the next call will need the token too.
type TokenSource func(ctx context.Context) (Token, error)

// StaticToken is the source of one token that never changes.
func StaticToken(value string) TokenSource {
	return func(context.Context) (Token, error) { return Token{Value: value}, nil }
}

const (
	// sourceTimeout bounds one question to the source, which no caller's context ends.
	sourceTimeout = 30 * time.Second
	// renewBefore is how long before its end a token is renewed, so that it does not end on its way.
	renewBefore = 30 * time.Second
	// sourceCoolDown is how long a failure of the source is repeated without asking again.
	sourceCoolDown = time.Second
)

// A credential is a token as the mirror sees it.
type credential struct {
	token    Token
	identity string
	// renewAt is when the token is no longer used, if above 0. The lock of tokens guards it.
	renewAt time.Duration
	// accepted says that the server has taken it. The mirror's lock guards it.
	accepted bool
}

// tokens keeps the present credential and asks for the next one, once for all who wait.
type tokens struct {
	source TokenSource
	now    func() time.Duration

	mu      sync.Mutex
	current *credential
	flight  *flight
}

// A flight is one question to the source. Its result stands once done is closed.
type flight struct {
	done    chan struct{}
	cred    *credential
	err     error
	endedAt time.Duration
}

func newTokens(source TokenSource, now func() time.Duration) *tokens {
	return &tokens{source: source, now: now}
}

// get returns the credential to use now; nil without a source.
func (t *tokens) get(ctx context.Context) (*credential, error) {
	if t == nil {
		return nil, nil
	}
	return t.replace(ctx, nil)
}

// held returns the credential last used, without asking for one.
func (t *tokens) held() *credential {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// replace returns a credential other than the refused one. A refused one that has been replaced meanwhile causes no further
// question.
func (t *tokens) replace(ctx context.Context, refused *credential) (*credential, error) {
	t.mu.Lock()
	if t.usable(refused) {
		defer t.mu.Unlock()
		return t.current, nil
	}
	f := t.ask(ctx)
	t.mu.Unlock()
	select {
	case <-f.done:
		return f.cred, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (t *tokens) usable(refused *credential) bool {
	c := t.current
	return c != nil && c != refused && (c.renewAt == 0 || t.now() < c.renewAt)
}

// ask joins the question that is being asked, or repeats a failure of a moment ago, or begins a question.
func (t *tokens) ask(ctx context.Context) *flight {
	if f := t.flight; f != nil && (!f.ended() || f.err != nil && t.now() < f.endedAt+sourceCoolDown) {
		return f
	}
	f := &flight{done: make(chan struct{})}
	t.flight = f
	go t.run(context.WithoutCancel(ctx), f)
	return f
}

func (f *flight) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func (t *tokens) run(ctx context.Context, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	asked := t.now()
	token, err := askSafely(ctx, t.source)
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.err = err; err == nil {
		f.cred = t.next(token, asked)
		t.current = f.cred
	}
	f.endedAt = t.now()
	close(f.done)
}

// askSafely turns a panic of the source, which would end the program from this goroutine, into an error.
func askSafely(ctx context.Context, source TokenSource) (token Token, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("token source panicked: %v", v)
		}
	}()
	if token, err = source(ctx); err == nil && token.Value == "" {
		return Token{}, errors.New("the token source gave an empty token")
	}
	return token, err
}

// next makes the credential of a token. The same token again is the same credential: what the server knows of it stays.
func (t *tokens) next(token Token, asked time.Duration) *credential {
	c := t.current
	if c == nil || c.token.Value != token.Value {
		c = &credential{token: token, identity: identityOfToken(token)}
	}
	c.renewAt = 0
	if token.ExpiresIn > 0 {
		c.renewAt = asked + token.ExpiresIn - min(renewBefore, token.ExpiresIn/10)
	}
	return c
}

// anyone is the identity of tokens that do not say whose they are.
const anyone = "token"

func identityOf(c *credential) string {
	if c == nil {
		return ""
	}
	return c.identity
}

func identityOfToken(token Token) string {
	if token.Subject != "" {
		return "subject:" + token.Subject
	}
	if issuer, subject, ok := claims(token.Value); ok {
		return fmt.Sprintf("jwt:%q:%q", issuer, subject)
	}
	return anyone
}

// claims reads issuer and subject of a JWT without verifying it: they only choose which slots are counted here.
func claims(token string) (issuer, subject string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", "", false
	}
	var c struct {
		Issuer  string `json:"iss"`
		Subject string `json:"sub"`
	}
	err = json.Unmarshal(payload, &c)
	return c.Issuer, c.Subject, err == nil && c.Subject != ""
}
