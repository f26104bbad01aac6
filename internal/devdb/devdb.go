// Package devdb runs the PostgreSQL of development and tests: a real server, started from the binaries on this machine,
// that ends with the process that started it.
//
// The server listens on a Unix socket in a folder that only its own user may enter, and nowhere else; whoever can open
// the socket is its superuser. When the starting process is root, which PostgreSQL refuses to be, the server runs as the
// user "postgres" or else "nobody".
package devdb

import (
	"errors"
	"log/slog"
	"net/url"
	"os"
	"sync"
)

// port only names the socket; nothing listens on the network.
const port = "5432"

// Config says where a cluster lies and what it may risk.
type Config struct {
	// DataDir is the cluster's own folder, made if it is missing. Where the server's user may not enter it, the cluster lies
	// in a folder under /var/tmp that is named after it, and the log says so.
	DataDir string
	// Log gets a line about where the cluster lies and about what had to be recovered; nil: slog.Default().
	Log *slog.Logger
	// FastUnsafe trades the data's survival of a power cut for speed: for tests.
	FastUnsafe bool
	// Ephemeral removes DataDir when the server has ended, however this process ends.
	Ephemeral bool
	// Template, if not empty, is the DataDir of a stopped cluster, to copy instead of making an empty one: it is quicker.
	Template string
}

// Binaries is an installation of PostgreSQL.
type Binaries struct {
	// Dir holds postgres and initdb.
	Dir string
	// Version is what `postgres --version` prints, Major its first number.
	Version string
	Major   int
}

// ErrInUse is what Start wraps when another process runs the cluster of this folder.
var ErrInUse = errors.New("in use by another process")

// A Cluster is a running server.
type Cluster struct {
	binaries Binaries
	account  account
	log      *slog.Logger
	dir      string   // the folder that holds all of the below
	sockets  string   // the folder with the socket
	lock     *os.File // held while this process runs the cluster
	alive    *os.File // the server ends when this end of a pipe is closed, by Stop or by the end of this process
	exited   chan struct{}
	pid      int // of the server
	group    int // of the server and its supervisor
	remove   bool
	stop     sync.Once
}

// Dir is the folder in which the cluster lies.
func (c *Cluster) Dir() string { return c.dir }

// Binaries is the installation that runs.
func (c *Cluster) Binaries() Binaries { return c.binaries }

// Exited is closed when the server has ended, by Stop or by itself.
func (c *Cluster) Exited() <-chan struct{} { return c.exited }

// URL is the address of a database of this cluster, for its superuser. A new cluster has the database "postgres".
func (c *Cluster) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {c.sockets}, "port": {port}}.Encode(),
	}
	return u.String()
}
