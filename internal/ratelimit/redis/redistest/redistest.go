// Package redistest starts real Redis servers, a real Redis Cluster and a faulty network for tests.
//
// Every server keeps nothing on disk, listens on the loopback interface only, and ends with the test binary, even when
// that is killed.
package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// readyWithin is how long a server may take to say that it is ready; it takes about 20 ms on an idle machine.
const readyWithin = 20 * time.Second

// A Server is one redis-server process of a test.
type Server struct {
	// Addr is host:port on the loopback interface; it stays the same over Kill and Restart.
	Addr string
	// URL is the same as redis://host:port/0.
	URL string

	t       testing.TB
	args    []string
	mu      sync.Mutex
	process *process
}

// Start runs a redis-server until the test ends. The args are added to its command line ("--maxmemory-policy",
// "allkeys-lru"). It fails the test, naming the remedy, when no redis-server is installed.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, func(port int) []string { return append(baseArgs(t, port), args...) })
}

// StartSentinel runs a sentinel until the test ends, which watches the master under the name and alone decides to
// replace it when it has not answered for half a second.
func StartSentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatalf("read the master's address: %v", err)
	}
	return start(t, func(own int) []string {
		config := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %[3]s %s %s 1\n"+
			"sentinel down-after-milliseconds %[3]s 500\nsentinel failover-timeout %[3]s 2000\n", own, t.TempDir(), name, host, port)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatalf("write the sentinel's configuration: %v", err)
		}
		return []string{config, "--sentinel"}
	})
}

// Pause stops the process where it stands (SIGSTOP): connections stay open and nothing answers.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Kill ends the process at once, as a crash would; connections are reset and new ones refused.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.kill()
}

// Restart starts the process again on the same address, after Kill or instead of it. It comes back without data and
// with an empty script cache.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := launch(s.args)
	if err != nil {
		s.t.Fatalf("restart redis-server: %v", err)
	}
	s.process = p
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v to redis-server: %v", sig, err)
	}
}

// start tries a few ports, because another process may take a free one between its choice and its use.
func start(t testing.TB, args func(port int) []string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("redis-server is not on the PATH; install it with: apt-get install -y redis-server (Debian, Ubuntu), brew install redis (macOS)")
	}
	var err error
	for range 5 {
		port := freePort(t)
		all := args(port)
		var p *process
		if p, err = launch(all); err != nil {
			continue
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		s := &Server{Addr: addr, URL: "redis://" + addr + "/0", t: t, args: all, process: p}
		t.Cleanup(s.Kill)
		return s
	}
	t.Fatalf("start redis-server: %v", err)
	return nil
}

// baseArgs are a server's without persistence, whose files, if it writes any, go with the test.
func baseArgs(t testing.TB, port int) []string {
	t.Helper()
	return []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", t.TempDir(), "--loglevel", "notice", "--logfile", "", "--daemonize", "no",
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("find a free port: %v is no TCP address", l.Addr())
	}
	return addr.Port
}

// A process is one run of redis-server.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	once   sync.Once
}

// launch starts redis-server and returns when it accepts connections.
func launch(args []string) (*process, error) {
	cmd := exec.Command("redis-server", args...) //nolint:gosec,noctx // The arguments are the tests' own; stop ends it.
	cmd.SysProcAttr = endWithParent()
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	p := &process{cmd: cmd, exited: make(chan struct{})}
	if err := p.run(in); err != nil {
		return nil, err
	}
	if err := awaitReady(out); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// run starts the process and waits for its end on one thread of its own: the kernel ends the child with the thread
// that started it, so that thread has to live as long as the child.
func (p *process) run(out *io.PipeWriter) error {
	started := make(chan error)
	go func() {
		lockThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait()
		_ = out.Close()
		close(p.exited)
	}()
	return <-started
}

func (p *process) kill() {
	p.once.Do(func() { _ = p.cmd.Process.Kill() })
	<-p.exited
}

// awaitReady reads the server's log up to the line that says it accepts connections, which for a sentinel is the one
// that says its id, and goes on discarding it.
func awaitReady(out io.Reader) error {
	ready := make(chan error, 1)
	go func() {
		var log strings.Builder
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&log, lines.Text())
			if strings.Contains(lines.Text(), "Ready to accept connections") || strings.Contains(lines.Text(), "Sentinel ID is") {
				ready <- nil
				_, _ = io.Copy(io.Discard, out)
				return
			}
		}
		ready <- fmt.Errorf("redis-server ended early:\n%s", log.String())
	}()
	select {
	case err := <-ready:
		return err
	case <-time.After(readyWithin):
		return fmt.Errorf("redis-server was not ready within %v", readyWithin)
	}
}
