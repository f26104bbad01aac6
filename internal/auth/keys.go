package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// keyBurst and keyInterval bound the fetches of the key set: so many at once, then one an interval. go-oidc fetches
	// for every token whose key it does not know or whose signature is bad, so without them a spray of garbage becomes
	// a spray at the issuer. The interval is also the longest that a new key goes unnoticed during a spray.
	keyBurst    = 5
	keyInterval = 30 * time.Second
	// keyRetry is the interval while no key set was ever read, since until then no token can be checked at all.
	keyRetry = time.Second
	// keyMaxAge is when the keys are read anew though they still verify, so that a key the issuer withdrew ends.
	keyMaxAge = time.Hour
)

// A keyGate is the transport of key set fetches: it lets few through and answers the others with the last good set.
type keyGate struct {
	next  http.RoundTripper
	now   func() time.Time
	hooks Hooks

	mu     sync.Mutex
	spent  float64 // of keyBurst
	at     time.Time
	latest []byte
}

// RoundTrip fetches the key set if the gate is open. If it is shut or the fetch fails, the answer is the last good set;
// an error means that there is none.
func (g *keyGate) RoundTrip(r *http.Request) (*http.Response, error) {
	err := errors.New("asked too often for a key set that could not be fetched")
	if g.open() {
		var body []byte
		if body, err = g.fetch(r); err == nil {
			g.keep(body)
			return keyResponse(r, body), nil
		}
	}
	body := g.last()
	if body == nil {
		return nil, err
	}
	report(g.hooks.KeyFetchSpared)
	return keyResponse(r, body), nil
}

// open takes one fetch from the gate's bucket, if one is there.
func (g *keyGate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	interval := keyInterval
	if g.latest == nil {
		interval = keyRetry
	}
	now := g.now()
	g.spent = max(0, g.spent-now.Sub(g.at).Seconds()/interval.Seconds())
	g.at = now
	if g.spent > keyBurst-1 {
		return false
	}
	g.spent++
	return true
}

func (g *keyGate) fetch(r *http.Request) ([]byte, error) {
	report(g.hooks.KeyFetch)
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read key set: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch key set: status %d", resp.StatusCode)
	}
	return body, checkKeySet(body)
}

func (g *keyGate) keep(body []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latest = body
}

func (g *keyGate) last() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.latest
}

// checkKeySet keeps an answer that is not a key set (a proxy's error page, say) from replacing a good one.
func checkKeySet(body []byte) error {
	var set struct {
		Keys []struct {
			Type string `json:"kty"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return fmt.Errorf("decode key set: %w", err)
	}
	if len(set.Keys) == 0 {
		return errors.New("the key set is empty")
	}
	return nil
}

func keyResponse(r *http.Request, body []byte) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       r,
	}
}

// A keySet verifies signatures with the issuer's keys, as go-oidc fetches and caches them behind the gate.
type keySet struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	remote *oidc.RemoteKeySet
	since  time.Time
}

// VerifySignature is oidc.KeySet's. A fault of fetching is noted in the context, because the verifier above flattens
// all errors into one text.
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.current().VerifySignature(ctx, jwt) //nolint:contextcheck // the keys outlive the request that fetches them
	var fetch *url.Error
	if errors.As(err, &fetch) || ctx.Err() != nil {
		note(ctx, err)
	}
	return payload, err
}

// current gives the cached set of keys, or an empty one, which fetches anew, when it is too old.
func (k *keySet) current() *oidc.RemoteKeySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); k.remote == nil || now.Sub(k.since) > keyMaxAge {
		k.remote = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), k.client), k.url)
		k.since = now
	}
	return k.remote
}

// An outage is put into a verification's context to learn that the keys could not be fetched.
type outage struct{ err error }

type outageKey struct{}

func note(ctx context.Context, err error) {
	if missing, ok := ctx.Value(outageKey{}).(*outage); ok {
		missing.err = err
	}
}
