package redistest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// A Cluster is a Redis Cluster of three masters, each behind a Proxy of its own.
type Cluster struct {
	// Nodes are the masters: the first has the lowest third of the slots.
	Nodes []*Server
	// Proxies stand before the nodes, in the same order. The nodes announce them as their addresses, so that all
	// traffic of clients passes through them.
	Proxies []*Proxy
	// URL is redis+cluster://host:port,host:port,host:port of the proxies.
	URL string
}

// StartCluster runs a cluster of three masters until the test ends. It takes a second or two: nodes find each other
// by gossip.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	var hosts []string
	for range 3 {
		bus := freePort(t)
		node := Start(t,
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", strconv.Itoa(bus),
			"--cluster-node-timeout", "5000", "--cluster-allow-replica-migration", "no",
		)
		proxy := NewProxy(t, node.Addr)
		c.Nodes, c.Proxies = append(c.Nodes, node), append(c.Proxies, proxy)
		hosts = append(hosts, proxy.Addr)
	}
	c.URL = "redis+cluster://" + strings.Join(hosts, ",")
	c.join(t)
	return c
}

// Client returns a client of one node itself, past its proxy.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (c *Cluster) join(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	for i, node := range c.Nodes {
		if err := c.prepare(ctx, node.Client(t), i); err != nil {
			t.Fatalf("prepare cluster node %d: %v", i, err)
		}
	}
	if err := c.meet(ctx, t); err != nil {
		t.Fatalf("join the cluster: %v", err)
	}
	for i, node := range c.Nodes {
		if err := awaitCluster(ctx, node.Client(t), len(c.Nodes)); err != nil {
			t.Fatalf("wait for cluster node %d: %v", i, err)
		}
	}
}

// prepare gives a node its third of the slots, an epoch of its own and the proxy's address to announce.
func (c *Cluster) prepare(ctx context.Context, node *redis.Client, i int) error {
	_, port, err := net.SplitHostPort(c.Proxies[i].Addr)
	if err != nil {
		return err
	}
	from, to := slots*i/len(c.Nodes), slots*(i+1)/len(c.Nodes)-1
	pipe := node.Pipeline()
	pipe.ConfigSet(ctx, "cluster-announce-ip", "127.0.0.1")
	pipe.ConfigSet(ctx, "cluster-announce-port", port)
	pipe.Do(ctx, "cluster", "set-config-epoch", i+1)
	pipe.ClusterAddSlotsRange(ctx, from, to)
	_, err = pipe.Exec(ctx)
	return err
}

func (c *Cluster) meet(ctx context.Context, t testing.TB) error {
	t.Helper()
	first := c.Nodes[0].Client(t)
	for _, node := range c.Nodes[1:] {
		host, port, err := net.SplitHostPort(node.Addr)
		if err != nil {
			return err
		}
		bus, err := node.Client(t).ConfigGet(ctx, "cluster-port").Result()
		if err != nil {
			return err
		}
		if err := first.Do(ctx, "cluster", "meet", host, port, bus["cluster-port"]).Err(); err != nil {
			return err
		}
	}
	return nil
}

// awaitCluster returns when a node knows all the others and says that every slot is served.
func awaitCluster(ctx context.Context, node *redis.Client, nodes int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := node.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", nodes)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last state:\n%s", ctx.Err(), info)
		case <-tick.C:
		}
	}
}
