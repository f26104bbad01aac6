package house

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestQueriesNameWhatThereIs takes each query of the dashboard and of the alerts to a real server's metrics: the names,
// the labels, and the values that labels are compared with.
func TestQueriesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	there := scrapeServer(t)
	there.series["up"] = []map[string]string{{"job": "server"}} // Prometheus makes it by itself.
	for where, queries := range map[string][]string{"the dashboard": dashboardQueries(t), "the alerts": slices.Collect(maps.Values(alertRules(t)))} {
		if len(queries) < 10 {
			t.Errorf("%s has %d queries", where, len(queries))
		}
		for _, query := range queries {
			for _, fault := range there.faults(query) {
				t.Errorf("%s asks %s: %s", where, query, fault)
			}
		}
	}
}

// TestFaultyQueriesAreFound shows that the test above can fail.
func TestFaultyQueriesAreFound(t *testing.T) {
	t.Parallel()
	there := scrape{series: map[string][]map[string]string{
		"http_requests_total": {{"route": "page", "status": "200"}}, "http_request_duration_seconds_bucket": {{"le": "1"}},
	}}
	for query, faults := range map[string]int{
		`sum(rate(http_requests_total{status="200"}[5m]))`:                                       0,
		`sum by (route, instance) (rate(http_requests_total{status=~"5.."}[$__rate_interval]))`:  0,
		`histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket[5m])))`: 0,
		`rate(http_request_total[5m])`:                                                           1,
		`http_requests_total{code="200"}`:                                                        1,
		`http_requests_total{status="999"}`:                                                      1,
		`sum by (rute) (http_requests_total)`:                                                    1,
		`rate(http_requests_total[5m]) / rate(other_things_total[5m])`:                           1,
		`5 > 4`: 1,
	} {
		if got := there.faults(query); len(got) != faults {
			t.Errorf("%s has the faults %q, want %d", query, got, faults)
		}
	}
}

// Each alert says what to do, and the page on operation names it.
func TestAlertsAreExplained(t *testing.T) {
	t.Parallel()
	listed := firstColumn(t, "alerts")
	for name := range alertRules(t) {
		if !slices.Contains(listed, name) {
			t.Errorf("docs/operations.md does not list the alert %s", name)
		}
	}
	for _, name := range listed {
		if alertRules(t)[name] == "" {
			t.Errorf("docs/operations.md lists the alert %s, which there is not", name)
		}
	}
}

// The parts of a query that can be wrong: names with what is in braces behind them, comparisons, and groupings.
var (
	selector   = regexp.MustCompile(`\b([a-z]+(?:_[a-z]+)+|up)\b(?:\{([^}]*)\})?`)
	comparison = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
)

// functions are words of the query language that look like a metric's name.
var functions = []string{"histogram_quantile", "group_left", "label_replace"}

func (s *scrape) faults(query string) []string {
	var faults []string
	labels := []string{"instance", "job"}
	names := 0
	for _, found := range selector.FindAllStringSubmatch(grouping.ReplaceAllString(query, ""), -1) {
		name, matchers := found[1], found[2]
		if slices.Contains(functions, name) || strings.HasPrefix(name, "__") {
			continue
		}
		names++
		series := s.series[name]
		if len(series) == 0 {
			faults = append(faults, "there is no "+name)
			continue
		}
		for label := range series[0] {
			labels = append(labels, label)
		}
		faults = append(faults, matcherFaults(name, matchers, series)...)
	}
	if names == 0 {
		faults = append(faults, "it names no metric")
		return faults
	}
	for _, group := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(group[1], ",") {
			if len(faults) == 0 && !slices.Contains(labels, strings.TrimSpace(label)) {
				faults = append(faults, "no metric in it has the label "+label)
			}
		}
	}
	return faults
}

// matcherFaults looks at what stands in braces. A value that equals none of a series is a word that changed; a status that
// did not happen, or something that Prometheus adds, is none.
func matcherFaults(name, matchers string, series []map[string]string) []string {
	var faults []string
	for _, match := range comparison.FindAllStringSubmatch(matchers, -1) {
		label, operator, value := match[1], match[2], match[3]
		if label == "instance" || label == "job" && name != "up" {
			continue
		}
		if _, ok := series[0][label]; !ok {
			faults = append(faults, name+" has no label "+label)
			continue
		}
		rare := label == "status" && len(value) == 3 && strings.HasPrefix(value, "5")
		if operator == "=" && !rare && !slices.ContainsFunc(series, func(labels map[string]string) bool { return labels[label] == value }) {
			faults = append(faults, "no series of "+name+" has "+label+"="+value)
		}
	}
	return faults
}

// dashboardQueries returns the queries of each panel.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Type    string `json:"type"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(readFile(t, "deploy/grafana/dashboards/server.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, panel := range dashboard.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("the panel %s asks nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

// alertRules returns the query of each alert.
func alertRules(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(readFile(t, "deploy/prometheus/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			rules[rule.Alert] = rule.Expr
			if rule.Annotations["summary"] == "" || rule.Annotations["action"] == "" || rule.Labels["severity"] == "" {
				t.Errorf("the alert %s lacks a summary, an action or a severity", rule.Alert)
			}
		}
	}
	return rules
}
