package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// A Fault is what a Proxy does to the traffic.
type Fault int

// The faults. Each takes hold at once, for open connections too.
const (
	// Pass hands everything on.
	Pass Fault = iota
	// DropReplies hands requests on and loses the replies, so that the caller cannot know what was done.
	DropReplies
	// BlackHole loses requests and replies; connections are accepted and stay open.
	BlackHole
	// Reset answers every request, and every new connection, with a reset.
	Reset
)

// A Proxy is a TCP connection to a server over a network that can be made faulty.
type Proxy struct {
	// Addr is the host:port to connect to; URL the same as redis://host:port/0.
	Addr, URL string

	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	fault    Fault
	delay    time.Duration
	closed   bool
	open     map[net.Conn]struct{}
	accepted int
}

// NewProxy starts a proxy in front of target (host:port) until the test ends. It passes everything at first.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for the proxy: %v", err)
	}
	addr := l.Addr().String()
	p := &Proxy{Addr: addr, URL: "redis://" + addr + "/0", target: target, listener: l, open: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Set changes the fault.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Delay holds every reply back for d; 0 ends that.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// ResetAll resets the open connections of clients.
func (p *Proxy) ResetAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		abort(c)
	}
}

// Retarget sends new connections to another server, as a changed DNS entry or a failover would.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Accepted is how many connections clients have opened in all, Open how many they have open now.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open is how many connections clients have open.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.register(c) {
			continue
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

// register counts a new connection; it says no to one that is not to be served.
func (p *Proxy) register(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	if p.closed || p.fault == Reset {
		abort(c)
		return false
	}
	p.open[c] = struct{}{}
	return true
}

// serve joins a client's connection to one of the server's, until either ends.
func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	_, _, target := p.state()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
	if err != nil {
		abort(client)
		return
	}
	defer server.Close()
	var replies sync.WaitGroup
	replies.Go(func() {
		p.pump(client, server, true)
		client.Close()
	})
	p.pump(server, client, false)
	server.Close()
	replies.Wait()
}

// pump copies one direction as the fault of the moment has it.
func (p *Proxy) pump(to, from net.Conn, replies bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(to, from, buf[:n], replies) {
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) pass(to, from net.Conn, b []byte, replies bool) bool {
	fault, delay, _ := p.state()
	if replies && delay > 0 {
		time.Sleep(delay)
		fault, _, _ = p.state()
	}
	switch {
	case fault == Reset:
		abort(to)
		abort(from)
		return false
	case fault == BlackHole, fault == DropReplies && replies:
		return true
	}
	_, err := to.Write(b)
	return err == nil
}

func (p *Proxy) state() (Fault, time.Duration, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.delay, p.target
}

func (p *Proxy) forget(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.listener.Close()
	p.wg.Wait()
}

// abort closes with a reset instead of a farewell.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
