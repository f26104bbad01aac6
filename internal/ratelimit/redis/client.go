package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// poolSize is the connections to one server: the batches under way at once, with some room for other commands.
	poolSize = 8
	// dials is how many connections may be made at once; a server that does not answer is not besieged.
	dials = 2
	// dialTimeout bounds the making of a connection, which goes on without the call that asked for it.
	dialTimeout = time.Second
	// defaultPorts of servers and sentinels.
	defaultPort, defaultSentinelPort = "6379", "26379"
)

// CheckURL says what New would refuse of a URL. It connects to nothing.
func CheckURL(rawURL string) error {
	timeout, err := timeoutIn(rawURL)
	if err != nil {
		return err
	}
	client, err := newClient(rawURL, timeout)
	if err != nil {
		return err
	}
	return client.Close() //nolint:wrapcheck // Of nothing that was opened.
}

// newClient makes the limiter's own client, which would rather fail than wait or try again.
func newClient(rawURL string, timeout time.Duration) (goredis.UniversalClient, error) {
	a, err := parseAddress(rawURL)
	if err != nil {
		return nil, err
	}
	switch a.kind {
	case "cluster":
		return goredis.NewClusterClient(clusterOptions(a, timeout)), nil
	case "sentinel":
		return newSentinelClient(a, timeout)
	}
	options, err := goredis.ParseURL(rawURL)
	if err != nil {
		return nil, errURL
	}
	setSingle(options, timeout)
	return goredis.NewClient(options), nil
}

func setSingle(o *goredis.Options, timeout time.Duration) {
	o.MaxRetries, o.ContextTimeoutEnabled, o.DisableIdentity = -1, true, true
	o.DialTimeout, o.DialerRetries, o.MaxConcurrentDials = dialTimeout, 1, dials
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout
	o.PoolSize, o.MaxActiveConns, o.PipelinePoolSize = poolSize, poolSize, -1
	o.MaintNotificationsConfig = unannounced()
}

// unannounced does without the notices of hosted servers about their maintenance, which would stretch the deadlines.
func unannounced() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func clusterOptions(a address, timeout time.Duration) *goredis.ClusterOptions {
	return &goredis.ClusterOptions{
		Addrs: a.hosts, Username: a.user, Password: a.password, TLSConfig: a.tls,
		MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true, DisableRoutingPolicies: true,
		// Only redirections are followed, and they need no pause.
		MinRetryBackoff: -1, MaxRetryBackoff: -1,
		DialTimeout: dialTimeout, DialerRetries: 1, MaxConcurrentDials: dials,
		ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		PoolSize: poolSize, MaxActiveConns: poolSize, PipelinePoolSize: -1,
		MaintNotificationsConfig: unannounced(),
	}
}

// newSentinelClient follows the master whose name is the first part of the path; a database may be the second.
func newSentinelClient(a address, timeout time.Duration) (goredis.UniversalClient, error) {
	master, number, _ := strings.Cut(a.path, "/")
	if master == "" {
		return nil, errors.New("the Redis URL names no master: use redis+sentinel://host:port,host:port/MASTER")
	}
	database := 0
	if number != "" {
		var err error
		if database, err = strconv.Atoi(number); err != nil || database < 0 {
			return nil, errors.New("the database in the Redis URL is no number: use redis+sentinel://host:port/MASTER/0")
		}
	}
	return goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName: master, SentinelAddrs: a.hosts, DB: database, Username: a.user, Password: a.password, TLSConfig: a.tls,
		SentinelUsername: a.query.Get("sentinel_username"), SentinelPassword: a.query.Get("sentinel_password"),
		MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: dialTimeout, DialerRetries: 1, MaxConcurrentDials: dials,
		ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		PoolSize: poolSize, MaxActiveConns: poolSize, PipelinePoolSize: -1,
	}), nil
}

// maxTimeout is the longest that a call may be told to wait: what a request would wait in an outage before the breaker opens.
const maxTimeout = 5 * time.Second

// timeoutIn reads the deadline of calls out of the URL, under the client library's own name for it.
func timeoutIn(rawURL string) (time.Duration, error) {
	_, query, _ := strings.Cut(rawURL, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, errURL
	}
	text := values.Get("read_timeout")
	if text == "" {
		return defaultTimeout, nil
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 || timeout > maxTimeout {
		return 0, fmt.Errorf("read_timeout=%s in the Redis URL is no duration up to %v: write it like read_timeout=100ms", text, maxTimeout)
	}
	return timeout, nil
}

// An address is a URL whose scheme may say how the servers work together, and whose host may be several.
type address struct {
	kind           string // "" for a single server.
	hosts          []string
	user, password string
	path           string
	query          url.Values
	tls            *tls.Config
}

// errURL repeats nothing of the URL, whose password must not reach a log.
var errURL = errors.New("the Redis URL cannot be read: use redis://host:port/0, rediss://…, " +
	"redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/MASTER")

func parseAddress(raw string) (address, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	scheme, kind, several := strings.Cut(scheme, "+")
	if !several {
		return address{}, nil
	}
	if scheme != "redis" && scheme != "rediss" || kind != "cluster" && kind != "sentinel" {
		return address{}, errURL
	}
	// The library's parser takes one host: the others are cut out of its way.
	authority := rest[:strings.IndexAny(rest+"/", "/?#")]
	tail := rest[len(authority):]
	at := strings.LastIndexByte(authority, '@') + 1
	hosts := strings.Split(authority[at:], ",")
	u, err := url.Parse(scheme + "://" + authority[:at] + hosts[0] + tail)
	if err != nil {
		return address{}, errURL
	}
	password, _ := u.User.Password()
	a := address{kind: kind, user: u.User.Username(), password: password, path: strings.Trim(u.Path, "/"), query: u.Query()}
	if a.hosts, err = withPorts(hosts, kind); err != nil {
		return address{}, err
	}
	if scheme == "rediss" {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		if kind == "sentinel" {
			return a, nil // The master's name is not known yet; its dialer fills in the host.
		}
		a.tls.ServerName = u.Hostname()
	}
	return a, nil
}

func withPorts(hosts []string, kind string) ([]string, error) {
	port := defaultPort
	if kind == "sentinel" {
		port = defaultSentinelPort
	}
	all := make([]string, 0, len(hosts))
	for _, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		if name, _, err := net.SplitHostPort(host); err != nil || name == "" {
			return nil, fmt.Errorf("one of the hosts in the Redis URL is empty or unreadable: %w", errURL)
		}
		all = append(all, host)
	}
	return all, nil
}
