package api_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/api"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestFormat(t *testing.T) {
	t.Parallel()
	policies := []api.Policy{{"edge.caller", 1000, time.Minute}, {"tasks.parse.burst", 3, 1500 * time.Millisecond}, {`a"b\c`, 1, 0}}
	if got, want := api.FormatPolicies(policies), `"edge.caller";q=1000;w=60, "tasks.parse.burst";q=3;w=2, "a\"b\\c";q=1`; got != want {
		t.Errorf("policies: %s, want %s", got, want)
	}
	services := []api.Service{{"user", 88, 1200 * time.Millisecond, true}, {"org", 600, 0, false}}
	if got, want := api.FormatServices(services), `"user";r=88;t=2, "org";r=600`; got != want {
		t.Errorf("services: %s, want %s", got, want)
	}
}

func TestParseQuotas(t *testing.T) {
	t.Parallel()
	user := []api.Policy{{"user", 100, time.Minute}}
	left := []api.Service{{"user", 88, 2 * time.Second, true}}
	cases := map[string]struct {
		header http.Header
		want   api.Quotas
	}{
		"nothing":           {header(), api.Quotas{}},
		"the draft":         {header("RateLimit-Policy", `"user";q=100;w=60`, "RateLimit", `"user";r=88;t=2`), api.Quotas{user, left}},
		"token as a name":   {header("RateLimit-Policy", `user;q=100;w=60`, "RateLimit", `user;r=88;t=2`), api.Quotas{user, left}},
		"two lines":         {header("RateLimit", `"user";r=88;t=2`, "RateLimit", `"org";r=5`), api.Quotas{nil, append(left, api.Service{"org", 5, 0, false})}},
		"unknown params":    {header("RateLimit", `"user";r=88;t=2;pk=:cHs=:;x="y";z;d=1.5`), api.Quotas{nil, left}},
		"no reset":          {header("RateLimit", `"user";r=100`), api.Quotas{nil, []api.Service{{"user", 100, 0, false}}}},
		"dictionary":        {header("RateLimit", "limit=100, remaining=42, reset=13"), old(100, 42, 13)},
		"dictionary+policy": {header("RateLimit", "limit=100, remaining=42, reset=13", "RateLimit-Policy", "100;w=60"), oldWith(100, 42, 13, time.Minute)},
		"three headers":     {header("RateLimit-Limit", "100, 100;w=60", "RateLimit-Remaining", "42", "RateLimit-Reset", "13"), old(100, 42, 13)},
		"with X-":           {header("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "42", "X-RateLimit-Reset", "13"), old(100, 42, 13)},
		"reset as a date": {header("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "42", "X-RateLimit-Reset", "1795996800"), api.Quotas{
			[]api.Policy{{Quota: 100}}, []api.Service{{Remaining: 42}},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := api.ParseQuotas(c.header)
			if len(got.Policies)+len(c.want.Policies) > 0 && !reflect.DeepEqual(got.Policies, c.want.Policies) {
				t.Errorf("policies: %+v, want %+v", got.Policies, c.want.Policies)
			}
			if len(got.Services)+len(c.want.Services) > 0 && !reflect.DeepEqual(got.Services, c.want.Services) {
				t.Errorf("services: %+v, want %+v", got.Services, c.want.Services)
			}
		})
	}
}

func old(limit, remaining, reset int64) api.Quotas { return oldWith(limit, remaining, reset, 0) }

func oldWith(limit, remaining, reset int64, window time.Duration) api.Quotas {
	return api.Quotas{
		[]api.Policy{{Quota: limit, Window: window}},
		[]api.Service{{Remaining: remaining, Reset: time.Duration(reset) * time.Second, HasReset: true}},
	}
}

func TestMalformedQuotasAreIgnored(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`"user`, `"user";r`, `"user";r=`, `"user";r=-1`, `"user";r=1;t=-5`, `"user";r=1;t=99999999999999`, `"user";r=1,`, `"user" x`,
		`"us\er";r=1`, "\"us\x00er\";r=1", `;r=1`, `"user";R=1`, `"user";r=1234567890123456`, `"a";r=1,,"b";r=2`, `:abc;r=1`,
		strings.Repeat(`"a";r=1, `, 65) + `"a";r=1`, `"user"` + strings.Repeat(";a=1", 3) + ";r=x", "limit=1", "limit=1, remaining=x", "limit=-1, remaining=1",
	} {
		if got := api.ParseQuotas(header("RateLimit", value)); len(got.Services) > 0 {
			t.Errorf("RateLimit: %q was read as %+v", value, got)
		}
	}
}

// What is parsed can be written and read again, and nothing that arrives makes a negative or absurd number.
func FuzzParseQuotas(f *testing.F) {
	f.Add(`"user";q=100;w=60`, `"user";r=88;t=2`)
	f.Add(`100;w=60`, `limit=100, remaining=42, reset=13`)
	f.Add(`a;q=1;w=9999999999`, `"\"";r=0;t=0;pk=:AA==:`)
	f.Fuzz(func(t *testing.T, policy, limit string) {
		got := api.ParseQuotas(header("RateLimit-Policy", policy, "RateLimit", limit))
		for _, p := range got.Policies {
			if p.Quota < 0 || p.Window < 0 {
				t.Fatalf("negative policy %+v", p)
			}
		}
		for _, s := range got.Services {
			if s.Remaining < 0 || s.Reset < 0 || !s.HasReset && s.Reset != 0 {
				t.Fatalf("impossible service %+v", s)
			}
		}
		again := api.ParseQuotas(header("RateLimit", api.FormatServices(got.Services)))
		if len(got.Services) > 0 && !reflect.DeepEqual(again.Services, got.Services) {
			t.Fatalf("%+v was written and read as %+v", got.Services, again.Services)
		}
	})
}

func TestRetryAfterValue(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		-time.Second: "1", 0: "1", time.Nanosecond: "1", time.Second: "1", time.Second + 1: "2", 16321 * time.Millisecond: "17",
	} {
		if got := api.RetryAfterValue(wait); got != want {
			t.Errorf("RetryAfterValue(%v) = %s, want %s", wait, got, want)
		}
	}
}
