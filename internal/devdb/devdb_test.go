//go:build unix

package devdb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childFolder and childEphemeral, in the environment, turn this test binary into a process that runs a cluster until it is killed.
const childFolder, childEphemeral = "DEVDB_CHILD_FOLDER", "DEVDB_CHILD_EPHEMERAL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		runChild(dir)
	}
	code := m.Run()
	if dir, err := template(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func runChild(dir string) {
	c, err := Start(context.Background(), Config{DataDir: dir, FastUnsafe: true, Ephemeral: os.Getenv(childEphemeral) != "", Log: quiet()})
	if err != nil {
		fmt.Fprintln(os.Stdout, "failed:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, c.pid, c.group)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// A child is another process that runs a cluster.
type child struct {
	cmd                *exec.Cmd
	server, supervisor int
}

func startChild(t *testing.T, dir string, ephemeral bool) child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+dir)
	if ephemeral {
		cmd.Env = append(cmd.Env, childEphemeral+"=1")
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	c := child{cmd: cmd}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscan(line, &c.server, &c.supervisor); err != nil {
		t.Fatalf("child says %q", line)
	}
	return c
}

func kill(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %d: %v", pid, err)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// folder is where a cluster may lie whoever runs it. testing's own temporary folders have a parent that other users may
// not enter on some systems.
func folder(t *testing.T) string {
	t.Helper()
	parent := "/dev/shm" // In memory, where there is such a thing.
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "devdbtest-") //nolint:usetesting // It must lie there.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// template is made once for all tests: each would need a second to make its own. TestMain removes it.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/tmp", "devdbtest-template-")
	if err != nil {
		return "", err
	}
	c, err := Start(context.Background(), Config{DataDir: dir, FastUnsafe: true, Log: quiet()})
	if err != nil {
		return dir, err
	}
	return dir, c.Stop()
})

func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	var err error
	if cfg.Template, err = template(); err != nil {
		t.Fatal(err)
	}
	cfg.FastUnsafe = true
	if cfg.Log == nil {
		cfg.Log = quiet()
	}
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return c
}

func query(t *testing.T, c *Cluster, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var text string
	if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// write puts a text into a file of the server, whose user must be able to read it.
func write(t *testing.T, c *Cluster, name, text string) {
	t.Helper()
	path := filepath.Join(c.data(), name)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), c.account.own(path)); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for what another process does. The limit is only reached by a failing test.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// running is false for a process that has ended, also where nobody has waited for it.
func running(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := start(t, Config{DataDir: dir})
	if got := query(t, first, "SELECT current_user || ' ' || current_setting('server_encoding') || ' ' || current_setting('TimeZone')"); got != "postgres UTF8 UTC" {
		t.Errorf("user, encoding and zone are %s", got)
	}
	query(t, first, "CREATE TABLE kept AS SELECT 'yes'::text AS answer")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	if running(first.pid) {
		t.Error("the server runs on after Stop")
	}
	if got := query(t, start(t, Config{DataDir: dir}), "SELECT answer FROM kept"); got != "yes" {
		t.Errorf("after a restart the table says %q", got)
	}
}

func TestNobodyElseMayConnect(t *testing.T) {
	t.Parallel()
	c := start(t, Config{DataDir: folder(t)})
	if listening := query(t, c, "SHOW listen_addresses"); listening != "" {
		t.Errorf("the server listens on %q", listening)
	}
	for _, dir := range []string{c.Dir(), c.sockets, c.data()} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o700 {
			t.Errorf("folder %s has mode %o, want 700", dir, mode)
		}
	}
}

func TestASecondStartIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := start(t, Config{DataDir: dir})
	_, err := Start(t.Context(), Config{DataDir: dir, Log: quiet()})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("error is %v, want one that names the folder and the process", err)
	}
	query(t, first, "SELECT 'still there'")
}

func TestTheServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	for _, ephemeral := range []bool{false, true} {
		t.Run(fmt.Sprintf("ephemeral %t", ephemeral), func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			start(t, Config{DataDir: dir}).Stop() // Leaves data, which the child would need a second to make.
			c := startChild(t, dir, ephemeral)
			kill(t, c.cmd.Process.Pid)
			eventually(t, "server ends", func() bool { return !running(c.server) })
			eventually(t, "supervisor ends", func() bool { return !running(c.supervisor) })
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) != ephemeral {
				t.Errorf("the folder's state is %v after an end with ephemeral %t", err, ephemeral)
			}
		})
	}
}

func TestStartRecovers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		kill func(child) []int
	}{
		{"from a killed parent", func(c child) []int { return []int{c.cmd.Process.Pid} }},
		{"from a server that lost its parent and its supervisor", func(c child) []int { return []int{c.cmd.Process.Pid, c.supervisor} }},
		{"from a killed server", func(c child) []int { return []int{c.supervisor, c.server, c.cmd.Process.Pid} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			first := start(t, Config{DataDir: dir})
			query(t, first, "CREATE TABLE kept AS SELECT 'yes'::text AS answer")
			if err := first.Stop(); err != nil {
				t.Fatal(err)
			}
			c := startChild(t, dir, false)
			kill(t, tt.kill(c)...)
			c.cmd.Wait()
			if got := query(t, start(t, Config{DataDir: dir}), "SELECT answer FROM kept"); got != "yes" {
				t.Errorf("after the recovery the table says %q", got)
			}
			if running(c.server) {
				t.Error("the old server still runs")
			}
		})
	}
}

// The process id in a dead server's file may have passed on to any other program of the same user.
func TestStartRecoversFromAReusedProcessID(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, Config{DataDir: dir})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	other := c.account.command(t.Context(), "sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		other.Process.Kill()
		other.Wait()
	})
	stale := fmt.Sprintf("%d\n%s\n1\n%s\n%s\n\n  1 1\nready\n", other.Process.Pid, c.data(), port, c.sockets)
	write(t, c, pidFile, stale)
	query(t, start(t, Config{DataDir: dir}), "SELECT 'alive'")
	if !running(other.Process.Pid) {
		t.Error("a program that is no server was killed")
	}
}

func TestAFolderThatTheServerMayNotEnter(t *testing.T) {
	t.Parallel()
	closed := folder(t) // Of this user alone.
	dir := filepath.Join(closed, "checkout", ".data", "postgres")
	var log strings.Builder
	c := start(t, Config{DataDir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() {
		c.Stop()
		os.RemoveAll(c.Dir())
	})
	query(t, c, "CREATE TABLE kept AS SELECT 'yes'::text AS answer")
	if switched := os.Geteuid() == 0; (c.Dir() != dir) != switched || strings.Contains(log.String(), "elsewhere="+c.Dir()) != switched {
		t.Errorf("the cluster lies in %s, and the log says %q", c.Dir(), log.String())
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, start(t, Config{DataDir: dir}), "SELECT answer FROM kept"); got != "yes" {
		t.Errorf("after a restart the table says %q", got)
	}
}

func TestAFolderOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	link := filepath.Join(folder(t), "link")
	if err := os.Symlink(folder(t), link); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{account: account{uid: os.Geteuid(), gid: os.Getegid(), name: "this user"}}
	if err := c.privateDir(link); err == nil || !strings.Contains(err.Error(), link) {
		t.Errorf("error is %v, want one that names the link", err)
	}
}

func TestALongPath(t *testing.T) {
	t.Parallel()
	dir := folder(t) + strings.Repeat("x", 100)
	c := start(t, Config{DataDir: dir})
	t.Cleanup(func() {
		c.Stop()
		os.RemoveAll(dir)
		os.RemoveAll(c.sockets)
	})
	if socket := filepath.Join(c.sockets, ".s.PGSQL."+port); len(socket) > longestSocket {
		t.Errorf("socket %s has %d characters", socket, len(socket))
	}
	query(t, c, "SELECT 'reached'")
}

func TestAFaultAtTheStartShowsTheServersLog(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, Config{DataDir: dir})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	write(t, c, "postgresql.auto.conf", "colour = green\n")
	_, err := Start(t.Context(), Config{DataDir: dir, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), `configuration parameter "colour"`) {
		t.Errorf("error is %v, want one with the server's own words", err)
	}
}

func TestDataOfAVersionThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := start(t, Config{DataDir: dir})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	write(t, c, "PG_VERSION", "99\n")
	_, err := Start(t.Context(), Config{DataDir: dir, Log: quiet()})
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "in version 99, which made this data") {
		t.Errorf("error is %v, want one that names the version", err)
	}
}

func TestExited(t *testing.T) {
	t.Parallel()
	c := start(t, Config{DataDir: folder(t)})
	kill(t, c.pid)
	<-c.Exited()
}

func TestSweep(t *testing.T) {
	t.Parallel()
	parent := folder(t)
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	used := start(t, Config{DataDir: filepath.Join(parent, "used")})
	for _, name := range []string{"left", "fresh", "unlocked"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"left", "fresh"} {
		if err := os.WriteFile(filepath.Join(parent, name, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"used", "left"} {
		if err := os.Chtimes(filepath.Join(parent, name, "lock"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(t.Context(), filepath.Join(parent, "*"))
	for name, want := range map[string]bool{"used": true, "left": false, "fresh": true, "unlocked": true} {
		if _, err := os.Stat(filepath.Join(parent, name)); (err == nil) != want {
			t.Errorf("folder %s is kept: %v, want %t", name, err, want)
		}
	}
	query(t, used, "SELECT 'alive'")
}
