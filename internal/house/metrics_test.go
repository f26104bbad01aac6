package house

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
)

// A scrape is what a real server said at /metrics: the labels of each series, by the series' name.
type scrape struct {
	families []string
	series   map[string][]map[string]string
}

// TestOperationsListsTheMetrics compares the page with a real server: an alert on a name that is gone never fires.
func TestOperationsListsTheMetrics(t *testing.T) {
	t.Parallel()
	var there []string
	for _, family := range scrapeServer(t).families {
		if !strings.HasPrefix(family, "go_") && !strings.HasPrefix(family, "process_") {
			there = append(there, family)
		}
	}
	listed := firstColumn(t, "metrics")
	for _, metric := range there {
		if !slices.Contains(listed, metric) && !strings.HasPrefix(metric, "promhttp_") {
			t.Errorf("docs/operations.md does not list the metric %s", metric)
		}
	}
	for _, metric := range listed {
		if !slices.Contains(there, metric) {
			t.Errorf("docs/operations.md lists the metric %s, which there is not", metric)
		}
	}
}

// scrapeServer reads the metrics of a server with all that there may be behind it, after a request and a refusal.
func scrapeServer(t *testing.T) *scrape {
	t.Helper()
	s := servertest.Start(t, servertest.Env{"REDIS_URL": redistest.Start(t).URL + "?read_timeout=2s"})
	s.Do(servertest.Request{Path: "/api/v1/me", Token: s.Token("alice")})
	s.Do(servertest.Request{Path: "/api/v1/me"})
	resp, err := http.Get(s.AdminURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	found := &scrape{series: map[string][]map[string]string{}}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		found.read(lines.Text())
	}
	if len(found.families) < 10 {
		t.Fatalf("/metrics says only %v", found.families)
	}
	return found
}

// read takes one line of the text format: a family's type, or a sample such as `name{label="value",…} 1`.
func (s *scrape) read(line string) {
	if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
		family, _, _ := strings.Cut(rest, " ")
		s.families = append(s.families, family)
		return
	}
	if strings.HasPrefix(line, "#") || line == "" {
		return
	}
	labels := map[string]string{}
	name, rest, labelled := strings.Cut(line, "{")
	if !labelled {
		name, _, _ = strings.Cut(line, " ")
	} else {
		pairs, _, _ := strings.Cut(rest, "} ")
		for pair := range strings.SplitSeq(pairs, `",`) { // No value of ours holds a quotation mark.
			label, value, _ := strings.Cut(pair, `="`)
			labels[label] = strings.TrimSuffix(value, `"`)
		}
	}
	s.series[name] = append(s.series[name], labels)
}
