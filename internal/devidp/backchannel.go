package devidp

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// tellFor bounds the telling of all clients: the person who signs out waits for it.
	tellFor = 5 * time.Second
	// logoutTokenFor is the life of a logout token. The specification recommends two minutes at most.
	logoutTokenFor = 2 * time.Minute
)

// newClient makes the client that tells others of logouts. It follows no redirects: what it sends is for one address.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:       tellFor,
		Transport:     cmp.Or(transport, http.DefaultTransport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// tellClients sends a logout token to each client of the session that wants one (OpenID Connect Back-Channel Logout
// 1.0), all at once. Whom it does not reach goes on with the session for as long as it likes; that is logged.
func (p *Provider) tellClients(ctx context.Context, session ownClaims) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellFor)
	defer cancel()
	var telling sync.WaitGroup
	for _, id := range session.Audience {
		client, ok := p.client(id)
		if !ok || client.Backchannel == "" {
			continue
		}
		telling.Go(func() {
			if err := p.tell(ctx, client, session); err != nil {
				p.cfg.Log.WarnContext(ctx, "a client was not told of a logout", "client", client.ID, "error", err)
			}
		})
	}
	telling.Wait()
}

func (p *Provider) tell(ctx context.Context, client Client, session ownClaims) error {
	token, err := p.logoutToken(ctx, client, session)
	if err != nil {
		return err
	}
	body := strings.NewReader(url.Values{"logout_token": {token}}.Encode())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, client.Backchannel, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := p.outgoing.Do(r)
	if err != nil {
		return fmt.Errorf("send logout token: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("the client answers %d: %s", resp.StatusCode, text)
	}
	return nil
}

// logoutToken names the session and whose it was. It has no nonce, so that it cannot be taken for an ID token.
func (p *Provider) logoutToken(ctx context.Context, client Client, session ownClaims) (string, error) {
	now := p.cfg.Now()
	return p.sign(ctx, "logout+jwt", map[string]any{
		"iss": p.cfg.Issuer, "aud": client.ID, "sub": session.Subject, "sid": session.Session, "jti": uuid.NewString(),
		"iat": now.Unix(), "exp": now.Add(logoutTokenFor).Unix(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": struct{}{}},
	})
}
