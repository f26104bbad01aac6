package main

import (
	"bytes"
	"strings"
	"testing"

	"example.com/gatehouse/internal/servertest"
)

// Every promise is kept by a real server.
func TestPromises(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-url", s.URL, "-metrics", s.AdminURL + "/metrics"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	want := 4
	want += 2 // Those of tasks. example:line
	if got := strings.Count(out.String(), "kept    "); got != want {
		t.Errorf("%d promises were kept:\n%s", got, &out)
	}
}

// A server whose promise is broken is told so: here the wrong one is asked for look-ups.
func TestBrokenPromisesAreSaid(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	var out bytes.Buffer
	err := run(t.Context(), []string{"-url", s.URL, "-metrics", s.URL + "/livez"}, &out)
	if err == nil || !strings.Contains(out.String(), "BROKEN  a spray of bad credentials") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-replicas", "0"}, {"now"}, {"-colour"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	err := run(t.Context(), []string{"-url", "http://127.0.0.1:1"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "make run") {
		t.Errorf("no server: %v", err)
	}
}
