package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/gatehouse/internal/servertest"
)

// Behind a pooler in transaction mode people sign in and out, budgets are counted, and what other processes change is heard of
// past it: no statement counts on the connection of the one before.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	database := servertest.NewDatabase(t)
	file := filepath.Join(t.TempDir(), "budgets.json")
	if err := os.WriteFile(file, []byte(`{"auth.refresh": {"limit": 3}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, servertest.Env{"DATABASE_URL": startPooler(t, database), "DATABASE_DIRECT_URL": database, "BUDGETS_FILE": file})
	other := servertest.Start(t, servertest.Env{"DATABASE_URL": database, "PUBLIC_URL": s.URL})
	b := newBrowser(t, s, "203.0.113.90")
	b.signIn("alice", "/")
	var all sync.WaitGroup
	for range 25 { // Of connections to the database there are three.
		all.Go(func() {
			if resp := b.send("GET", "/api/v1/me", nil); resp.StatusCode != http.StatusOK {
				t.Errorf("who she is: %d %s", resp.StatusCode, resp.Body)
			}
		})
	}
	all.Wait()
	refreshed := 0
	untilRefused(t, func() servertest.Response {
		resp := b.send("POST", "/api/v1/auth/refresh", nil)
		if resp.StatusCode == http.StatusOK {
			refreshed++
		}
		return resp
	})
	if refreshed == 0 || refreshed > 3 {
		t.Errorf("%d refreshes are let pass, want some of 3: one is spent by a call that the database was too late for", refreshed)
	}
	token := s.Token("bob")
	task := as{t, s, token}.create(`{"title":"Buy milk"}`)                                                   // example:line
	want(t, s.Do(servertest.Request{Path: "/api/v1/tasks/" + task.ID, Token: token}), http.StatusOK)         // example:line
	want(t, s.Do(servertest.Request{Method: "DELETE", Path: "/api/v1/tasks/" + task.ID, Token: token}), 204) // example:line
	who := func() servertest.Response { return s.Do(servertest.Request{Path: "/api/v1/me", Token: token}) }
	want(t, who(), http.StatusOK)
	want(t, other.Do(servertest.Request{Method: "POST", Path: "/api/v1/auth/logout", Token: token}), http.StatusOK)
	awaitStatus(t, who, http.StatusUnauthorized)
	want(t, b.send("POST", "/api/v1/auth/logout", nil), http.StatusOK)
	want(t, b.send("GET", "/api/v1/me", nil), http.StatusUnauthorized)
}

// startPooler runs PgBouncer in transaction mode before the database until the test ends, and returns the database's address
// through it.
func startPooler(t *testing.T, database string) string {
	t.Helper()
	direct, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddress(t)
	_, port, _ := strings.Cut(addr, ":")
	runPooler(t, direct.Query().Get("host"), fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`, direct.Query().Get("host"), direct.Query().Get("port"), direct.User.Username(), port))
	return "postgres://" + direct.User.Username() + "@" + addr + direct.Path + "?sslmode=disable"
}

// poolerUntilTold runs PgBouncer until standard input ends, as it does however this process ends.
const poolerUntilTold = `PATH=$PATH:/usr/sbin; pgbouncer "$1" 2>&1 </dev/null & read -r _; kill $!; wait $!`

// runPooler runs it as whom the folder of the database's socket belongs to, and returns when it is up.
func runPooler(t *testing.T, sockets, config string) {
	t.Helper()
	folder, err := os.Stat(sockets)
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := folder.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("nobody owns %s", sockets)
	}
	dir, err := os.MkdirTemp("", "pooler-") //nolint:usetesting // Others may not enter one of the test's own.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", poolerUntilTold, "sh", file)
	cmd.Dir = "/"
	if os.Geteuid() == 0 {
		for _, path := range []string{dir, file} {
			if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	awaitPooler(t, cmd)
}

func awaitPooler(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	told, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, log := io.Pipe()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start PgBouncer: %v", err)
	}
	t.Cleanup(func() {
		told.Close()
		_ = cmd.Wait() // It was told to end.
		log.Close()
	})
	up, lines := make(chan bool, 1), ""
	go func() {
		defer output.Close() // Nobody writes where nobody reads.
		for scan := bufio.NewScanner(output); scan.Scan() && !strings.Contains(scan.Text(), "process up"); {
			lines += scan.Text() + "\n"
			if strings.Contains(lines, "not found") || strings.Contains(lines, "FATAL") {
				up <- false
				return
			}
		}
		up <- true
		_, _ = io.Copy(io.Discard, output) // Until it ends.
	}()
	select {
	case ok := <-up:
		if !ok {
			t.Fatalf("PgBouncer is not there, or does not start (scripts/setup pgbouncer): %s", lines)
		}
	case <-time.After(time.Minute):
		t.Fatal("PgBouncer is not up after a minute")
	}
}
