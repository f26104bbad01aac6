package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/internal/servertest"
)

// Headers that trickle in hold a connection for their five seconds and no longer, and nobody else waits for them.
func TestSlowHeadersHoldNothing(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	ended := make(chan error, 50)
	for range cap(ended) {
		conn := dial(t, s)
		go func() {
			fmt.Fprint(conn, "GET /api/v1/limits HTTP/1.1\r\nHost: x\r\nX-Slow: ")
			// It goes on sending, a byte at a time, for as long as the server listens.
			go func() {
				for {
					if _, err := fmt.Fprint(conn, "x"); err != nil {
						return
					}
					time.Sleep(200 * time.Millisecond)
				}
			}()
			_, err := io.Copy(io.Discard, conn)
			ended <- err
		}()
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/limits"}), http.StatusOK)
	for range cap(ended) {
		// A reset is an end too. The deadline of dial, long after the server's, is none.
		if err := <-ended; err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("a connection is still held: %v", err)
		}
	}
}

// Headers are bounded in size; the server says so and hangs up. It is net/http that answers, before there is a request: in
// text, the one answer without the envelope, and without a line in the log.
func TestOversizedHeaders(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	conn := dial(t, s)
	go fmt.Fprintf(conn, "GET /api/v1/limits HTTP/1.1\r\nHost: x\r\nX-Large: %s\r\n\r\n", strings.Repeat("x", 100<<10))
	answer := bufio.NewReader(conn)
	resp, err := http.ReadResponse(answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || !resp.Close {
		t.Errorf("100 KiB of headers are answered %d, and the connection is closed: %v", resp.StatusCode, resp.Close)
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") || resp.Header.Get("X-Request-ID") != "" || len(s.Logs("request")) != 0 {
		t.Errorf("it is answered %v by a handler, which can use the envelope", resp.Header)
	}
	want(t, s.Do(servertest.Request{Path: "/api/v1/limits"}), http.StatusOK)
}

// Many connections that say nothing cost little and keep nobody out.
func TestManyIdleConnections(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	before := s.Metric("go_goroutines")
	const idle = 500
	for range idle {
		dial(t, s)
	}
	for range 20 {
		want(t, s.Do(servertest.Request{Path: "/api/v1/limits"}), http.StatusOK)
	}
	if now := s.Metric("go_goroutines"); now > before+2*idle {
		t.Errorf("%d idle connections cost %v goroutines", idle, now-before)
	}
}

// Whoever comes past the proxy without TLS gets HTTP/1.1 alone.
func TestNoHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	conn := dial(t, s)
	fmt.Fprint(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
		t.Errorf("a client of HTTP/2 is answered %q, %v", answer, err)
	}
}

// Where browsers come by https, they are told to come by nothing else; on a machine of one's own they are not.
func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	for _, test := range []struct{ public, want string }{{"https://app.example.com", "max-age=31536000; includeSubDomains"}, {"http://localhost:8080", ""}} {
		s := servertest.Start(t, issuer.Env(), servertest.Env{"PUBLIC_URL": test.public})
		for _, path := range []string{"/", "/api/v1/limits", "/nothing"} {
			if got := s.Do(servertest.Request{Path: path}).Header.Get("Strict-Transport-Security"); got != test.want {
				t.Errorf("%s%s: Strict-Transport-Security is %q, want %q", test.public, path, got, test.want)
			}
		}
	}
}

// No path lists a folder, and none leads out of the build.
func TestNoFolderIsListed(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, path := range []string{"/assets", "/assets/", "/.keep", "/dist/", "/static/", "/../go.mod", "/assets/../../go.mod", "/%2e%2e/go.mod", "/assets%2f..%2f.keep", "//"} {
		want(t, s.Do(servertest.Request{Path: path}), http.StatusNotFound)
	}
}
