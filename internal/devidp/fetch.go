package devidp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// cliRedirect is where the command line's codes are sent. Nothing listens there: the code is read from the redirect.
const cliRedirect = "http://127.0.0.1/callback"

// fetchTimeout bounds each request of FetchToken.
const fetchTimeout = 10 * time.Second

// FetchToken signs a seeded person in at the development issuer of the server at baseURL, by code and PKCE over HTTP
// as the public client cli, and returns an access token. A nil client is a plain one. The errors are for the terminal.
func FetchToken(ctx context.Context, client *http.Client, baseURL, person string) (string, error) {
	if _, ok := personByID(person); !ok {
		return "", fmt.Errorf("there is no person %q; there are %s", person, names())
	}
	f, err := newFetcher(client, baseURL)
	if err != nil {
		return "", err
	}
	if err := f.find(ctx); err != nil {
		return "", err
	}
	verifier := oauth2.GenerateVerifier()
	code, err := f.authorize(ctx, verifier, person)
	if err != nil {
		return "", err
	}
	return f.change(ctx, verifier, code)
}

// A fetcher talks to one server's development issuer.
type fetcher struct {
	client *http.Client
	base   string
}

func newFetcher(client *http.Client, baseURL string) (*fetcher, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is not a server's URL; it should look like http://localhost:8080", baseURL)
	}
	copied := http.Client{Timeout: fetchTimeout}
	if client != nil {
		copied = *client
	}
	copied.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &fetcher{client: &copied, base: strings.TrimSuffix(baseURL, "/")}, nil
}

// find tells a server that is not running from one without a development issuer.
func (f *fetcher) find(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+Path+"/.well-known/openid-configuration", http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	status, _, body, err := f.send(r)
	if err != nil {
		return err
	}
	var metadata struct {
		Issuer string `json:"issuer"`
	}
	if status != http.StatusOK || json.Unmarshal(body, &metadata) != nil || metadata.Issuer == "" {
		return fmt.Errorf("the server at %s has no development issuer (status %d): "+
			"it is there with APP_ENV=development and no OIDC_ISSUER", f.base, status)
	}
	return nil
}

// authorize picks the person and reads the code from the redirect.
func (f *fetcher) authorize(ctx context.Context, verifier, person string) (string, error) {
	state := randomToken()
	header, _, err := f.post(ctx, "/authorize", url.Values{
		"client_id": {"cli"}, "redirect_uri": {cliRedirect}, "response_type": {"code"},
		"scope": {"openid profile email"}, "state": {state}, "person": {person},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	})
	if err != nil {
		return "", err
	}
	target, err := url.Parse(header.Get("Location"))
	if err != nil {
		return "", fmt.Errorf("read the issuer's redirect: %w", err)
	}
	answer := target.Query()
	if answer.Get("state") != state || answer.Get("code") == "" {
		return "", fmt.Errorf("the development issuer gave no code: %s", answer.Get("error_description"))
	}
	return answer.Get("code"), nil
}

// change changes the code for an access token.
func (f *fetcher) change(ctx context.Context, verifier, code string) (string, error) {
	_, body, err := f.post(ctx, "/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"cli"}, "redirect_uri": {cliRedirect},
		"code": {code}, "code_verifier": {verifier},
	})
	if err != nil {
		return "", err
	}
	var tokens tokenResponse
	if err := json.Unmarshal(body, &tokens); err != nil || tokens.AccessToken == "" {
		return "", errors.New("the development issuer gave no access token")
	}
	return tokens.AccessToken, nil
}

// post sends a form; an answer of 400 or above is an error.
func (f *fetcher) post(ctx context.Context, path string, values url.Values) (http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+Path+path, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, header, body, err := f.send(r)
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("the development issuer refused (%s, status %d): %s", path, status, body)
	}
	return header, body, err
}

func (f *fetcher) send(r *http.Request) (int, http.Header, []byte, error) {
	resp, err := f.client.Do(r)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("no server answers at %s (start it with make run, or say where it is with -url): %w", f.base, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read the server's answer: %w", err)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return 0, nil, nil, fmt.Errorf("the server at %s limits this address: try again in %s s", f.base, resp.Header.Get("Retry-After"))
	}
	return resp.StatusCode, resp.Header, body, nil
}

// names lists the people for an error message.
func names() string {
	var ids []string
	for _, p := range People() {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, ", ")
}
