package parse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/gatehouse/internal/parse"
)

// encoded is a text as the shortest JSON that says it.
func encoded(t interface{ Fatal(args ...any) }, text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		t.Fatal(err)
	}
	// Go escapes these two for the sake of old browsers; JSON need not.
	return strings.TrimSpace(strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(b.String()))
}

// A sink answers every request with 500 and keeps its body.
type sink struct{ body []byte }

func (s *sink) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	s.body, err = io.ReadAll(r.Body)
	answer := &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Header: http.Header{}, Request: r}
	return answer, err
}

// Whatever the text, what the model is given to read has no more bytes than Bound says, and so no more tokens.
func TestBoundHoldsForEveryText(t *testing.T) {
	t.Parallel()
	const longest = 300
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("<>&\"\\\b\f\n\r\t\x00\x7f\u0085\u2028\u2029\ufffd/ü🦷")))
		text := "word" + string(rapid.SliceOf(letters).Draw(t, "text"))
		zone := rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin", "America/Argentina/ComodRivadavia"}).Draw(t, "zone")
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		sent := &sink{}
		model, err := parse.NewModel(parse.ModelConfig{
			BaseURL: "http://model.test", Model: "m", MaxTokens: longest, Fallback: local(), HTTPClient: &http.Client{Transport: sent},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Parse(context.Background(), parse.Request{Text: text, Location: location}); err != nil {
			t.Fatal(err)
		}
		given := len(encoded(t, text)) - len(`""`) + len(zone)
		if got, most := model.Bound(int64(given)), readable(t, sent.body)+longest; got < int64(most) {
			t.Fatalf("Bound(%d) is %d, but the model reads and writes up to %d for %q in %q", given, got, most, text, zone)
		}
	})
}

// readable is how many bytes of a request the model gets to read: all of it, the messages not escaped.
func readable(t interface{ Fatal(args ...any) }, body []byte) int {
	var sent sentBody
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	size := len(body)
	for _, m := range sent.Messages {
		escaped := encoded(t, m.Content)
		if !bytes.Contains(body, []byte(escaped)) {
			t.Fatal("the message is not in the body as it was sent")
		}
		size += len(m.Content) - len(escaped)
	}
	return size
}

func TestLocalCostsNothing(t *testing.T) {
	t.Parallel()
	if got := local().Bound(1 << 20); got != 0 {
		t.Errorf("Bound is %d", got)
	}
}
