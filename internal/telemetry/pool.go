package telemetry

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Pool is how a pool of connections is at present, and what it counted since the start.
type Pool struct {
	InUse, Idle int
	Max         int           // the most connections that there may be
	Waits       int64         // callers for whom no connection was free at once
	Waited      time.Duration // how long they waited, all together
	GivenUp     int64         // callers who got none in time
}

// WatchPool adds a pool of connections under a name such as "postgresql"; read is called when metrics are read, and must be
// safe for concurrent use. The error is a name that is taken.
func (m *Metrics) WatchPool(name string, read func() Pool) error {
	if err := m.registry.Register(newPoolCollector(name, read)); err != nil {
		return fmt.Errorf("watch the pool %s: %w", name, err)
	}
	return nil
}

// A poolCollector reads the pool once a scrape, so that its numbers belong together.
type poolCollector struct {
	read func() Pool

	inUse, idle, most, waits, waited, givenUp *prometheus.Desc
}

func newPoolCollector(pool string, read func() Pool) *poolCollector {
	desc := func(name, help string, labels prometheus.Labels) *prometheus.Desc {
		labels["pool"] = pool
		return prometheus.NewDesc(name, help, nil, labels)
	}
	const connections, about = "pool_connections", "Connections of a pool by state."
	return &poolCollector{
		read:    read,
		inUse:   desc(connections, about, prometheus.Labels{"state": "in_use"}),
		idle:    desc(connections, about, prometheus.Labels{"state": "idle"}),
		most:    desc("pool_connections_max", "The most connections that a pool may have.", prometheus.Labels{}),
		waits:   desc("pool_waits_total", "Callers for whom no connection was free at once.", prometheus.Labels{}),
		waited:  desc("pool_wait_seconds_total", "How long callers waited for a connection, all together.", prometheus.Labels{}),
		givenUp: desc("pool_given_up_total", "Callers who got no connection in time.", prometheus.Labels{}),
	}
}

// Describe implements prometheus.Collector.
func (c *poolCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.inUse, c.idle, c.most, c.waits, c.waited, c.givenUp} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *poolCollector) Collect(to chan<- prometheus.Metric) {
	p := c.read()
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
		to <- prometheus.MustNewConstMetric(desc, kind, value)
	}
	send(c.inUse, prometheus.GaugeValue, float64(p.InUse))
	send(c.idle, prometheus.GaugeValue, float64(p.Idle))
	send(c.most, prometheus.GaugeValue, float64(p.Max))
	send(c.waits, prometheus.CounterValue, float64(p.Waits))
	send(c.waited, prometheus.CounterValue, p.Waited.Seconds())
	send(c.givenUp, prometheus.CounterValue, float64(p.GivenUp))
}
