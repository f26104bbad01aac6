package mobileclient_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"example.com/gatehouse/mobileclient"
)

// A pipe is a network of in-memory connections, so that the real net/http, on both sides, runs in a synctest bubble.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve answers with handler over a new pipe until the test ends.
func serve(t *testing.T, handler http.Handler) *http.Transport {
	t.Helper()
	p := &pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	go func() { _ = server.Serve(p) }()
	transport := &http.Transport{DialContext: p.dial, MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return transport
}

// pipeClient returns a client of a server that answers with handler. It must be made in the bubble that uses it.
func pipeClient(t *testing.T, handler http.HandlerFunc, opts ...mobileclient.Option) *mobileclient.Client {
	t.Helper()
	return clientOver(t, serve(t, handler), opts...)
}

func clientOver(t *testing.T, base http.RoundTripper, opts ...mobileclient.Option) *mobileclient.Client {
	t.Helper()
	opts = append([]mobileclient.Option{
		mobileclient.WithHTTPClient(&http.Client{Transport: base}),
		mobileclient.WithTokenSource(mobileclient.StaticToken("secret")),
	}, opts...)
	client, err := mobileclient.New("http://server.example", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
