package devidp

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

func peoplePage(t *testing.T, redirect, state string) (http.Header, string) {
	t.Helper()
	p := newProvider(t, nil)
	b := &testBundle{provider: p, client: inProcess(p)}
	client := "mobile"
	if redirect == testCallback {
		client = "web"
	}
	status, header, page := b.get(t, testIssuer+"/authorize?"+url.Values{
		"client_id": {client}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {state},
		"code_challenge":        {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())},
		"code_challenge_method": {"S256"},
	}.Encode())
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, page)
	}
	return header, page
}

func TestPageOffersEveryone(t *testing.T) {
	t.Parallel()
	_, page := peoplePage(t, testCallback, "s")
	for _, person := range People() {
		for _, text := range []string{`value="` + person.ID + `"`, person.Name, person.Email, person.OrgName} {
			if !strings.Contains(page, text) {
				t.Errorf("the page does not show %s's %q", person.ID, text)
			}
		}
	}
}

func TestPageEscapes(t *testing.T) {
	t.Parallel()
	evil := `"><script>alert(1)</script>'&`
	_, page := peoplePage(t, testCallback, evil)
	if strings.Contains(page, "<script") || !strings.Contains(page, "&#34;&gt;&lt;script&gt;") {
		t.Errorf("the state is not escaped:\n%s", page)
	}
}

// TestPagePolicy: the page may load its one style, by hash, send its form here and on to the client, and nothing else.
func TestPagePolicy(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		testCallback:                    testPublic,
		"com.example.app:/signin":       "com.example.app:",
		"http://127.0.0.1:49152/signin": "http://127.0.0.1:49152",
		"http://[::1]:49152/signin":     "http:",
	}
	for redirect, target := range tests {
		header, page := peoplePage(t, redirect, "s")
		_, rest, _ := strings.Cut(page, "<style>")
		css, _, _ := strings.Cut(rest, "</style>")
		sum := sha256.Sum256([]byte(css))
		want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' " + target
		if got := header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", redirect, got, want)
		}
		if strings.Contains(page, "<script") || strings.Contains(page, "style=") || strings.Contains(page, "http-equiv") {
			t.Errorf("%s: the page needs what its policy forbids", redirect)
		}
	}
}

func TestAllowsRedirect(t *testing.T) {
	t.Parallel()
	client := Client{Redirects: []string{"https://app.example/cb", "com.example.app:/cb", "http://127.0.0.1/cb", "http://[::1]/cb", "http://localhost/cb"}}
	tests := map[string]bool{
		"https://app.example/cb":        true,
		"com.example.app:/cb":           true,
		"http://127.0.0.1/cb":           true,
		"http://127.0.0.1:5000/cb":      true,
		"http://[::1]:5000/cb":          true,
		"https://app.example:444/cb":    false,
		"https://app.example/cb/":       false,
		"https://app.example/cb?x":      false,
		"https://app.example/cb#x":      false,
		"http://app.example/cb":         false,
		"https://127.0.0.1:5000/cb":     false,
		"http://127.0.0.1:5000/other":   false,
		"http://127.0.0.1:5000/cb?x=1":  false,
		"http://127.0.0.1:5000/cb#x":    false,
		"http://u@127.0.0.1:5000/cb":    false,
		"http://127.0.0.1:x/cb":         false,
		"http://127.0.0.1:/cb":          false,
		"http://127.0.0.1.evil.com/cb":  false,
		"http://127.0.0.1:1@evil.com/c": false,
		"http://localhost:5000/cb":      false,
		"http://127.0.0.2:5000/cb":      false,
		"com.example.app:/other":        false,
		"":                              false,
	}
	for target, want := range tests {
		if got := client.allowsRedirect(target); got != want {
			t.Errorf("%q allowed: %v, want %v", target, got, want)
		}
	}
}

// FuzzAllowsRedirect: what is allowed is registered, or is on the loopback and differs by its port alone.
func FuzzAllowsRedirect(f *testing.F) {
	client := Client{Redirects: []string{"https://app.example/cb", "http://127.0.0.1/cb"}}
	for _, seed := range []string{"https://app.example/cb", "http://127.0.0.1:5000/cb", "http://127.0.0.1:1@evil/cb", "HTTP://127.0.0.1:1/cb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		if !client.allowsRedirect(target) || target == client.Redirects[0] || target == client.Redirects[1] {
			return
		}
		u, err := url.Parse(target)
		if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.User != nil || u.RequestURI() != "/cb" || u.Fragment != "" {
			t.Errorf("%q is allowed", target)
		}
	})
}

func TestRouting(t *testing.T) {
	t.Parallel()
	p := newProvider(t, nil)
	b := &testBundle{provider: p, client: inProcess(p)}
	for path, want := range map[string]int{
		"/.well-known/openid-configuration": 200, "/": 404, "/nothing": 404, "/keys/": 404, "//keys": 404, "/token": 405,
	} {
		if status, _, body := b.get(t, testIssuer+path); status != want {
			t.Errorf("%s answers %d %s, want %d", path, status, body, want)
		}
	}
}

func TestNewRefusesBadConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{Issuer: "", Audience: "api"},
		{Issuer: "/dev/idp", Audience: "api"},
		{Issuer: testIssuer + "/", Audience: "api"},
		{Issuer: testIssuer},
	} {
		if _, err := New(cfg, nil); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
