//go:build unix

package devdb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// pidFile is where a server writes its process id, in line 1, and in line 8 what it is doing.
	pidFile = "postmaster.pid"
	// noProcess is beyond the process ids that any Unix gives out.
	noProcess = "1073741823"
	// pollEvery is how often that file is looked at: a start takes some 50 ms.
	pollEvery = 5 * time.Millisecond
	// stopTimeout is how long a server may take to write down its last page before it is killed.
	stopTimeout = 20 * time.Second
	// largestLog is the size at which a start begins the server's log anew.
	largestLog = 8 << 20
)

// supervise runs the server ("$@") and prints its process id. It ends the server by a signal ($1) when the other end of
// the pipe at descriptor 3 is closed, which the system does for us however this process ends. Then it removes the
// folder $2, if there is one.
const supervise = `
signal=$1 folder=$2; shift 2
"$@" 3<&- >&2 &
server=$!
(read -r _; kill -"$signal" "$server") <&3 >/dev/null 2>&1 &
watch=$!
exec 3<&-
echo "$server"
exec >/dev/null
wait "$server"
status=$?
kill "$watch" 2>/dev/null
[ -z "$folder" ] || rm -rf "$folder"
exit "$status"
`

// errSharedMemory: processes of a server that was killed are still going away.
var errSharedMemory = errors.New("pre-existing shared memory block")

// launch starts the server and waits until it takes connections.
func (c *Cluster) launch(ctx context.Context, settings []string) error {
	for {
		err := c.tryLaunch(ctx, settings)
		if !errors.Is(err, errSharedMemory) {
			return err
		}
		if !pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

func (c *Cluster) tryLaunch(ctx context.Context, settings []string) error {
	log, err := c.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("find end of log: %w", err)
	}
	if err := c.run(ctx, log, settings); err != nil {
		return fmt.Errorf("run PostgreSQL: %w", err)
	}
	if err := c.awaitReady(ctx); err != nil {
		c.end()
		return logged(err, log, begin)
	}
	return nil
}

func (c *Cluster) openLog() (*os.File, error) {
	path := filepath.Join(c.dir, "postgres.log")
	mode := os.O_RDWR | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > largestLog {
		mode |= os.O_TRUNC
	}
	log, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return log, c.account.own(path)
}

// logged adds what the server wrote since begin to an error.
func logged(err error, log *os.File, begin int64) error {
	text, _ := io.ReadAll(io.NewSectionReader(log, begin, 1<<14)) // Only for the message.
	if strings.Contains(string(text), errSharedMemory.Error()) {
		return errSharedMemory
	}
	return fmt.Errorf("%w; its log (%s) says:\n%s", err, log.Name(), strings.TrimSpace(string(text)))
}

func (c *Cluster) run(ctx context.Context, log *os.File, settings []string) error {
	held, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer held.Close()
	cmd := c.serverCommand(ctx, settings)
	cmd.Stderr, cmd.ExtraFiles = log, []*os.File{held}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, alive.Close())
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // An empty line is a supervisor that has ended; awaitReady sees it.
	c.pid, _ = strconv.Atoi(strings.TrimSpace(line))
	c.alive, c.group, c.exited = alive, cmd.Process.Pid, make(chan struct{})
	go c.reap(cmd)
	return nil
}

func (c *Cluster) serverCommand(ctx context.Context, settings []string) *exec.Cmd {
	signal, folder := "INT", "" // A fast but clean end.
	if c.remove {
		signal, folder = "QUIT", c.dir // At once: the data is worth nothing.
	}
	args := []string{"-c", supervise, "sh", signal, folder, filepath.Join(c.binaries.Dir, "postgres"), "-D", c.data()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	// The server outlives the call that starts it.
	return c.account.command(context.WithoutCancel(ctx), "sh", args...)
}

// reap waits for the server's end. It also keeps the pipe's end from being collected as garbage, which would close it.
func (c *Cluster) reap(cmd *exec.Cmd) {
	cmd.Wait() //nolint:errcheck // How the server ended is in its log.
	c.alive.Close()
	close(c.exited)
}

func (c *Cluster) awaitReady(ctx context.Context) error {
	for {
		if pid, status := readPIDFile(c.data()); pid == c.pid && strings.HasPrefix(status, "ready") {
			return nil
		}
		select {
		case <-c.exited:
			return errors.New("PostgreSQL ended while starting")
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL to start: %w", ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// readPIDFile returns 0 where there is no whole file.
func readPIDFile(data string) (pid int, status string) {
	text, err := os.ReadFile(filepath.Join(data, pidFile))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(lines[0]) // 0 where it is not a number.
	if len(lines) > 7 {
		status = lines[7]
	}
	return pid, status
}

// Stop ends the server, and kills it if it does not end. Connections to it break.
func (c *Cluster) Stop() error {
	c.stop.Do(c.end)
	err := c.lock.Close()
	if c.remove {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (c *Cluster) end() {
	c.alive.Close()
	select {
	case <-c.exited:
	case <-time.After(stopTimeout):
		syscall.Kill(-c.group, syscall.SIGKILL) //nolint:errcheck // It ended meanwhile.
		<-c.exited
	}
}

// endLeftover stops a server that still runs in this folder. Its parent is gone, since we hold the lock; usually it is
// stopping already.
func (c *Cluster) endLeftover(ctx context.Context) error {
	pid, _ := readPIDFile(c.data())
	if pid <= 0 {
		return nil
	}
	if !c.isServer(ctx, pid) {
		return c.forget()
	}
	c.log.WarnContext(ctx, "stopping the database server that a killed process left behind", "pid", pid, "folder", c.dir)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		syscall.Kill(pid, signal) //nolint:errcheck // It ended meanwhile.
		if c.goneWithin(ctx, pid, stopTimeout) {
			return c.forget()
		}
	}
	return fmt.Errorf("the database server %d of a killed process does not stop: run `kill -9 %d`", pid, pid)
}

// forget makes the file of a dead server name a process that cannot exist. PostgreSQL clears a file away
// whose process does not run, but the number may have passed on to another program, or nobody has waited for the dead one. The rest of the
// file stays: it says how to tell whether parts of that server are still going away.
func (c *Cluster) forget() error {
	path := filepath.Join(c.data(), pidFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read file of a dead server: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte(noProcess+"\n"+rest), 0o600); err != nil { //nolint:gosec // In a folder of the server's user alone.
		return fmt.Errorf("write file of a dead server: %w", err)
	}
	return nil
}

// clearSocket removes the socket of a server that was killed, for the same reason.
func (c *Cluster) clearSocket() error {
	socket := filepath.Join(c.sockets, ".s.PGSQL."+port)
	for _, path := range []string{socket, socket + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove socket of a dead server: %w", err)
		}
	}
	return nil
}

// isServer tells by its command line whether a process is the server of this folder. One that has ended and that nobody
// has waited for has none.
func (c *Cluster) isServer(ctx context.Context, pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if errors.Is(err, fs.ErrNotExist) { // No Linux.
		line, err = exec.CommandContext(ctx, "ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // A number.
	}
	return err == nil && strings.Contains(string(line), c.data())
}

func (c *Cluster) goneWithin(ctx context.Context, pid int, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for c.isServer(ctx, pid) {
		if !pause(ctx, pollEvery) {
			return false
		}
	}
	return true
}

// pause returns false when the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
