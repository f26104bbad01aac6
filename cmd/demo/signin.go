package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The seeded people.
const (
	alice = "alice"
	bob   = "bob"
	carol = "carol"
	dave  = "dave"
)

// noRedirects lets the code be read from where the issuer sends the browser.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// signIn walks code and PKCE at the development issuer, as the public client cli.
func (d *demo) signIn(ctx context.Context, person string) (string, error) {
	const redirect = "http://127.0.0.1/callback"
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	header, _, err := d.form(ctx, "/dev/idp/authorize", url.Values{
		"client_id": {"cli"}, "redirect_uri": {redirect}, "response_type": {"code"}, "scope": {"openid profile email"}, "state": {rand.Text()},
		"person": {person}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	})
	if err != nil {
		return "", err
	}
	target, err := url.Parse(header.Get("Location"))
	if err != nil || target.Query().Get("code") == "" {
		return "", fmt.Errorf("the development issuer gave no code: %s", header.Get("Location"))
	}
	_, body, err := d.form(ctx, "/dev/idp/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"cli"}, "redirect_uri": {redirect}, "code": {target.Query().Get("code")}, "code_verifier": {verifier},
	})
	if err != nil {
		return "", err
	}
	var tokens struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(body, &tokens); err != nil || tokens.AccessToken == "" {
		return "", fmt.Errorf("the development issuer gave no token: %s", body)
	}
	return tokens.AccessToken, nil
}

// form posts a form. A 429 is waited for: an earlier run may have spent the address's budget.
func (d *demo) form(ctx context.Context, path string, values url.Values) (http.Header, []byte, error) {
	client := http.Client{CheckRedirect: noRedirects, Timeout: 10 * time.Second}
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, strings.NewReader(values.Encode()))
		if err != nil {
			return nil, nil, fmt.Errorf("make request: %w", err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(r)
		if err != nil {
			return nil, nil, fmt.Errorf("no server answers there (start one with make run): %w", err)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		resp.Body.Close()
		if err != nil {
			return nil, nil, fmt.Errorf("read answer: %w", err)
		}
		if resp.StatusCode != http.StatusTooManyRequests {
			return resp.Header, body, refusedForm(path, resp.StatusCode, body)
		}
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err := d.wait(ctx, time.Duration(max(seconds, 1))*time.Second, "this address's budget is spent"); err != nil {
			return nil, nil, err
		}
	}
}

func refusedForm(path string, status int, body []byte) error {
	switch {
	case status == http.StatusNotFound:
		return fmt.Errorf("%s is not there: the demo needs the development issuer (APP_ENV=development and no OIDC_ISSUER)", path)
	case status >= http.StatusBadRequest:
		return fmt.Errorf("%s answered %d: %s", path, status, body)
	}
	return nil
}
