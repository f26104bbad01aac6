//go:build unix

package devdb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// longestSocket is the longest path of a socket that every Unix takes (sun_path is 104 bytes on the BSDs, the last a zero).
const longestSocket = 103

// An account is whom the server runs as.
type account struct {
	name     string
	uid, gid int
	switched bool // from the account of this process, which is root
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(found.Uid) // On Unix both are numbers.
			gid, _ := strconv.Atoi(found.Gid)
			return account{name: name, uid: uid, gid: gid, switched: true}, nil
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: run `useradd --system postgres`")
}

// command prepares a program that runs as the account, in a folder that everybody may enter, out of reach of the
// terminal's Ctrl-C: the process that uses the database ends first.
func (a account) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // A shell, or a program of the installation that Find found.
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // Both have 32 bits.
	}
	return cmd
}

// mayEnter asks the system itself, so that access lists and read-only mounts count too.
func (a account) mayEnter(ctx context.Context, dir string) bool {
	return !a.switched || a.command(ctx, "sh", "-c", `cd "$1"`, "sh", dir).Run() == nil
}

// own gives a file to the account.
func (a account) own(path string) error {
	if !a.switched {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// place makes the folder of the cluster and returns where it lies.
func (c *Cluster) place(ctx context.Context, dataDir string) (string, error) {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("find folder %s: %w", dataDir, err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // What must be private is the folder inside.
		return "", fmt.Errorf("make folder for the database: %w", err)
	}
	if c.account.mayEnter(ctx, filepath.Dir(dir)) {
		return dir, c.privateDir(dir)
	}
	elsewhere := "/var/tmp/" + nameFor(dir)
	c.log.InfoContext(ctx, "database files lie elsewhere, because the user that PostgreSQL runs as may not enter the folder",
		"folder", dir, "user", c.account.name, "elsewhere", elsewhere)
	return elsewhere, c.privateDir(elsewhere)
}

// nameFor names a folder after another one: the same each time, short, and different for each.
func nameFor(dir string) string {
	return fmt.Sprintf("devdb-%.6x", sha256.Sum256([]byte(dir)))
}

// privateDir makes a folder that only the account may enter, or checks that it is one. In /tmp and /var/tmp somebody
// else may have made it, to read what we write there.
func (c *Cluster) privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != c.account.uid && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of %s: remove it, or use another folder", dir, c.account.name)
	}
	if err := errors.Join(os.Chmod(dir, 0o700), c.account.own(dir)); err != nil { //nolint:gosec // A folder needs its x bit.
		return fmt.Errorf("give folder to %s: %w", c.account.name, err)
	}
	return nil
}

// socketDir makes the folder of the socket: in the cluster's folder, or in /tmp where that would make its path too long.
func (c *Cluster) socketDir() (string, error) {
	dir := filepath.Join(c.dir, "run")
	if len(dir)+len("/.s.PGSQL."+port) > longestSocket {
		dir = "/tmp/" + nameFor(c.dir)
	}
	return dir, c.privateDir(dir)
}

// takeLock makes this process the only one to run the cluster of a folder, until it ends or closes the file.
func takeLock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(file) // Only for the message.
		file.Close()
		return nil, fmt.Errorf("database folder %s is %w (%s): stop that one, or use another folder",
			dir, ErrInUse, strings.TrimSpace("process "+string(holder)))
	}
	if err := errors.Join(file.Truncate(0), writePID(file)); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock: %w", err), file.Close())
	}
	return file, nil
}

func writePID(file *os.File) error {
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// copyTree copies a folder's files, which then are the account's. A server's own traces are left out.
func (a account) copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == pidFile {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if entry.IsDir() {
			return errors.Join(os.Mkdir(target, 0o700), a.own(target)) //nolint:gosec // Nobody else may enter either tree.
		}
		return errors.Join(copyFile(path, target), a.own(target))
	})
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
