package mobileclient

import (
	"net/http"
	"testing"
	"time"

	"example.com/gatehouse/api"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Sun, 29 Nov 2026 20:00:00 GMT"
	tests := map[string]struct {
		value, date string
		want        time.Duration
		ok          bool
	}{
		"seconds":               {value: "17", want: 17 * time.Second, ok: true},
		"spaces":                {value: " 2 ", want: 2 * time.Second, ok: true},
		"zero":                  {value: "0", ok: true},
		"RFC 1123":              {value: "Sun, 29 Nov 2026 20:01:30 GMT", date: date, want: 90 * time.Second, ok: true},
		"RFC 850":               {value: "Sunday, 29-Nov-26 20:01:30 GMT", date: date, want: 90 * time.Second, ok: true},
		"asctime":               {value: "Sun Nov 29 20:01:30 2026", date: date, want: 90 * time.Second, ok: true},
		"the past":              {value: "Sun, 29 Nov 2026 19:00:00 GMT", date: date, ok: true},
		"2099":                  {value: "Sun, 29 Nov 2099 20:00:00 GMT", date: date, want: maxRetryAfter, ok: true},
		"a date without Date":   {value: "Sun, 29 Nov 2026 20:01:30 GMT"},
		"a date and a bad Date": {value: "Sun, 29 Nov 2026 20:01:30 GMT", date: "yesterday"},
		"too large":             {value: "99999999999", want: maxRetryAfter, ok: true},
		"overflow":              {value: "99999999999999999999999", want: maxRetryAfter, ok: true},
		"none":                  {},
		"negative":              {value: "-5"},
		"a fraction":            {value: "1.5"},
		"NaN":                   {value: "NaN"},
		"other digits":          {value: "٣"},
	}
	for name, test := range tests {
		h := http.Header{}
		h.Set(api.HeaderRetryAfter, test.value)
		h.Set("Date", test.date)
		if got, ok := retryAfter(h); got != test.want || ok != test.ok {
			t.Errorf("%s: got %v, %t, want %v, %t", name, got, ok, test.want, test.ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"1", "-1", "1e9", "Sun, 29 Nov 2026 20:01:30 GMT", "Sunday, 29-Nov-26 20:01:30 GMT", "99999999999999999999"} {
		f.Add(seed, "Sun, 29 Nov 2026 20:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		h := http.Header{}
		h.Set(api.HeaderRetryAfter, value)
		h.Set("Date", date)
		got, ok := retryAfter(h)
		if got < 0 || got > maxRetryAfter || !ok && got != 0 {
			t.Errorf("retryAfter(%q, %q) = %v, %t", value, date, got, ok)
		}
	})
}
