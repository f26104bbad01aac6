package mobileclient

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/api"
)

// dated is a server whose clock is off: its answers bear that date, and each tenth is a refusal until a date of it.
type dated struct {
	off  time.Duration
	came int
}

func (d *dated) RoundTrip(*http.Request) (*http.Response, error) {
	d.came++
	now := time.Now().Add(d.off).UTC()
	said := &quotas{header: http.Header{"Content-Type": {"application/json"}, "Date": {now.Format(http.TimeFormat)}}}
	if d.came%10 != 0 {
		return said.answer(http.StatusOK, "{}"), nil
	}
	resp := said.answer(http.StatusTooManyRequests, `{"code":"RATE_LIMIT_EXCEEDED"}`)
	resp.Header.Set(api.HeaderRetryAfter, now.Add(20*time.Second).Format(http.TimeFormat))
	return resp, nil
}

// TestAWallClockThatIsOffChangesNothing tries a client at each half second for some minutes, and compares all that it
// decides and says between clocks that agree and such that do not.
func TestAWallClockThatIsOffChangesNothing(t *testing.T) {
	t.Parallel()
	want := decisions(t, 0)
	if !strings.Contains(want, "20000") || !strings.Contains(want, "local") {
		t.Fatalf("nobody was refused:\n%s", want)
	}
	for _, off := range []time.Duration{5 * time.Minute, -5 * time.Minute, 24 * time.Hour} {
		if got := decisions(t, off); got != want {
			t.Errorf("with a server %v ahead:\n%s\nwant\n%s", off, got, want)
		}
	}
}

func decisions(t *testing.T, off time.Duration) string {
	t.Helper()
	var said strings.Builder
	synctest.Test(t, func(t *testing.T) {
		client, err := New("http://server.example", WithHTTPClient(&http.Client{Transport: &dated{off: off}}),
			WithTokenSource(StaticToken("alice")), WithRetryWait(0), WithBudget(api.BudgetUser, 50, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		client.mirror.jitter = func(time.Duration) time.Duration { return 0 }
		for range 400 {
			_, err := client.Me(t.Context())
			if e, ok := errors.AsType[*Error](err); ok {
				fmt.Fprintf(&said, "%d %s ", e.Details.RetryAfter, map[bool]string{true: "local", false: "remote"}[e.Local])
			} else {
				fmt.Fprintf(&said, "%v ", err)
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
	return said.String()
}

// wall matches what takes a time's monotonic reading away, or reads the wall clock as a number.
var wall = regexp.MustCompile(`\.(UTC|In|Round|Truncate|AddDate|Unix\w*)\(|time\.(Date|Unix\w*)\(`)

// TestNothingReadsTheWallClock holds the sources to monotonic time: a span is measured, and no time is compared that has been
// rounded, converted or sent.
func TestNothingReadsTheWallClock(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := wall.Find(source); found != nil && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s uses %s", name, found)
		}
	}
}
