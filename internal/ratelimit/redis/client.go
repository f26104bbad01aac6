package redis

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// poolSize is the connections to one server: the batches under way at once, with some room for other commands.
	poolSize = 8
	// dialTimeout bounds the making of a connection, which goes on without the call that asked for it.
	dialTimeout = time.Second
)

// newClient makes the limiter's own client, which would rather fail than wait or try again.
func newClient(rawURL string, timeout time.Duration) (goredis.UniversalClient, error) {
	if nodes, ok := clusterURL(rawURL); ok {
		options, err := goredis.ParseClusterURL(nodes)
		if err != nil {
			return nil, urlError(err)
		}
		setCluster(options, timeout)
		return goredis.NewClusterClient(options), nil
	}
	options, err := goredis.ParseURL(rawURL)
	if err != nil {
		return nil, urlError(err)
	}
	setSingle(options, timeout)
	return goredis.NewClient(options), nil
}

func setSingle(o *goredis.Options, timeout time.Duration) {
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.DialerRetries = dialTimeout, 1
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout
	o.PoolSize, o.MaxActiveConns, o.MaxConcurrentDials, o.PipelinePoolSize = poolSize, poolSize, 2, -1
	o.DisableIdentity = true
}

func setCluster(o *goredis.ClusterOptions, timeout time.Duration) {
	o.MaxRetries = -1
	o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1 // Only redirections are followed, and they need no pause.
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.DialerRetries = dialTimeout, 1
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout
	o.PoolSize, o.MaxActiveConns, o.MaxConcurrentDials, o.PipelinePoolSize = poolSize, poolSize, 2, -1
	o.DisableIdentity, o.DisableRoutingPolicies = true, true
}

// clusterURL rewrites redis+cluster://user:password@a:1,b:2?x=y as the client spells it: redis://user:password@a:1?x=y&addr=b:2.
func clusterURL(raw string) (string, bool) {
	scheme, rest, _ := strings.Cut(raw, "://")
	kind, ok := strings.CutSuffix(scheme, "+cluster")
	if !ok {
		return "", false
	}
	authority, query, _ := strings.Cut(rest, "?")
	user, hosts := "", strings.TrimRight(authority, "/")
	if at := strings.LastIndexByte(hosts, '@'); at >= 0 {
		user, hosts = hosts[:at+1], hosts[at+1:]
	}
	first, others, _ := strings.Cut(hosts, ",")
	params := make([]string, 0, 4)
	if query != "" {
		params = append(params, query)
	}
	for host := range strings.SplitSeq(others, ",") {
		if host != "" {
			params = append(params, "addr="+url.QueryEscape(host))
		}
	}
	return kind + "://" + user + first + "?" + strings.Join(params, "&"), true
}

// urlError leaves out the cause's text where it could repeat the URL, whose password must not reach a log.
func urlError(err error) error {
	return fmt.Errorf("the Redis URL cannot be read (%T): use redis://host:port/0, rediss://…, unix:///path or redis+cluster://host:port,host:port", err)
}
