package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"example.com/gatehouse/api"
	"example.com/gatehouse/api/spec"
	"example.com/gatehouse/internal/servertest"
)

// How many malformed requests are sent, and what they are drawn from: `make fuzz-api` sends many more than a plain test.
var (
	malformed     = flag.Int("malformed", 3000, "how many malformed requests TestMalformedRequests sends")
	malformedSeed = flag.Uint64("malformed-seed", 1, "what they are drawn from")
)

// Whatever is sent to whichever route of the document, the answer is one that the document knows, in the one envelope: no
// 5xx, and nothing that hangs.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	issuer := servertest.StartIssuer(t)
	s := servertest.Start(t, issuer.Env())
	doc, err := openapi3.NewLoader().LoadFromData(spec.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	const senders = 8
	var all sync.WaitGroup
	tallies := make([]map[int]int, senders)
	for i := range senders {
		f := &fuzzer{
			t: t, issuer: issuer, doc: doc, base: s.URL, name: fmt.Sprint(i), tally: map[int]int{},
			random: rand.New(rand.NewPCG(*malformedSeed, uint64(i))), client: &http.Client{Timeout: time.Minute, CheckRedirect: stay},
		}
		tallies[i] = f.tally
		all.Go(func() { f.run(*malformed / senders) })
	}
	all.Wait()
	total := map[int]int{}
	sent := 0
	for _, tally := range tallies {
		for status, n := range tally {
			total[status] += n
			sent += n
		}
	}
	for _, status := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%d: %d answers", status, total[status])
	}
	// Most must get as far as what they are about, and not end at a budget or at the door.
	if refused := total[http.StatusTooManyRequests] + total[http.StatusUnauthorized]; sent < *malformed/senders*senders || refused > sent/2 {
		t.Errorf("%d requests were sent, %d of which were refused before they were read", sent, refused)
	}
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// A fuzzer sends malformed requests, one after the other.
type fuzzer struct {
	t      *testing.T
	issuer *servertest.Issuer
	doc    *openapi3.T
	base   string
	name   string
	random *rand.Rand
	client *http.Client
	tally  map[int]int // of answers, by status

	faults int
	people int
	token  string
}

func (f *fuzzer) run(n int) {
	var operations []routers.Route
	for _, path := range f.doc.Paths.InMatchingOrder() {
		item := f.doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			operations = append(operations, routers.Route{Spec: f.doc, Path: path, PathItem: item, Method: method, Operation: item.Operations()[method]})
		}
	}
	for i := range n {
		if i%15 == 0 { // Another person, so that no budget is met.
			f.people++
			f.token = f.issuer.Token(fmt.Sprintf("%s-%d", f.name, f.people), fmt.Sprintf("org-%s-%d", f.name, f.people), []string{"admin", "reader"}[f.people%2])
		}
		for !f.send(&operations[f.random.IntN(len(operations))]) {
			continue // What a client cannot send is drawn again.
		}
		if f.faults > 5 {
			return // One fault is often behind many answers.
		}
	}
}

// send sends one request for a route, and holds the answer to the document. It says whether there was one to send.
func (f *fuzzer) send(route *routers.Route) bool {
	method, target, matches := route.Method, f.path(route.Path), true
	if f.chance(20) {
		method, matches = pick(f.random, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"), false
	}
	if f.chance(20) {
		target, matches = f.mutatedPath(target), false
	}
	data := f.body(route.Operation)
	r, err := http.NewRequest(method, f.base+target+f.query(route.Operation), bytes.NewReader(data))
	if err != nil {
		return false
	}
	f.setHeaders(r)
	resp, body, err := f.answer(r, data)
	if err != nil {
		f.complainf("%s %s: no whole answer: %v", method, r.URL, err)
		return true
	}
	f.tally[resp.StatusCode]++
	if err := f.fault(route, r, resp, body, matches); err != nil {
		f.complainf("%s %s answered %d %.300q: %v", method, r.URL, resp.StatusCode, body, err)
	}
	return true
}

// answer sends a request, again where the database was too slow for its deadline, and where the server hung up on a body
// that is too large before its answer was read: that is this machine's doing, unless it stays so.
func (f *fuzzer) answer(r *http.Request, data []byte) (*http.Response, []byte, error) {
	for try := 1; ; try++ {
		r.Body = io.NopCloser(bytes.NewReader(data))
		resp, err := f.client.Do(r)
		if err != nil && len(data) > 64<<10 && try < 5 && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || try == 5 {
			return resp, body, err
		}
	}
}

func (f *fuzzer) complainf(format string, args ...any) {
	f.faults++
	f.t.Errorf(format, args...)
}

// fault is what is wrong with an answer.
func (f *fuzzer) fault(route *routers.Route, r *http.Request, resp *http.Response, body []byte, matches bool) error {
	if resp.StatusCode >= http.StatusInternalServerError {
		return errors.New("is the server's own fault")
	}
	if resp.StatusCode >= http.StatusBadRequest && r.Method != http.MethodHead {
		if err := envelopeFault(resp, body); err != nil {
			return err
		}
	}
	if !matches {
		return nil
	}
	isJSON := strings.HasSuffix(resp.Header.Get("Content-Type"), "json")
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: !isJSON, MultiError: true},
	}
	return openapi3filter.ValidateResponse(f.t.Context(), input.SetBodyBytes(body))
}

func envelopeFault(resp *http.Response, body []byte) error {
	var p api.Problem
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return fmt.Errorf("is not in the envelope: %w", err)
	}
	switch {
	case resp.Header.Get("Content-Type") != api.ContentTypeProblem:
		return fmt.Errorf("has the type %s", resp.Header.Get("Content-Type"))
	case p.Status != resp.StatusCode || api.NewProblem(p.Code, "").Status != resp.StatusCode:
		return fmt.Errorf("says the status %d, and has the code %s", p.Status, p.Code)
	case p.RequestID == "" || p.RequestID != resp.Header.Get(api.HeaderRequestID):
		return fmt.Errorf("names the request %q", p.RequestID)
	}
	return nil
}

func (f *fuzzer) chance(percent int) bool { return f.random.IntN(100) < percent }

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// path fills the template's parameters, mostly with what they are not.
func (f *fuzzer) path(template string) string {
	parts := strings.Split(template, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		parts[i] = pick(f.random, "01890000-0000-7000-8000-000000000000", "x", "user", "plan", "free", "tasks.write", "-1", "%00", "%20", "%F0%9F%98%80", "%ff",
			strings.Repeat("9", 300), "01890000-0000-7000-8000-00000000000", "{01890000-0000-7000-8000-000000000000}", "'%20OR%201=1--", "null", "%0d%0aX:1")
	}
	return strings.Join(parts, "/")
}

func (f *fuzzer) mutatedPath(path string) string {
	at := f.random.IntN(len(path)) + 1
	return path[:at] + pick(f.random, "/", "//", "%2f", "/..", "/./", "%", "%zz", ";x=1", "\\", "é", "x", "?", "#", "%00") + path[at:]
}

func (f *fuzzer) query(op *openapi3.Operation) string {
	if f.chance(50) {
		return ""
	}
	names := []string{"limit", "cursor", "x", "", "%zz", "returnTo", "state", "code"}
	for _, p := range op.Parameters {
		if p.Value.In == "query" {
			names = append(names, p.Value.Name, p.Value.Name, p.Value.Name)
		}
	}
	var parts []string
	for range 1 + f.random.IntN(3) {
		value := pick(f.random, "", "1", "0", "-1", "201", "99999999999999999999", "true", "nil", "%", "%zz", "%00", "%ff", "a;b", url.QueryEscape(f.text()), "//evil.example", "1e3", "[]")
		parts = append(parts, pick(f.random, names...)+pick(f.random, "=", "=", "=", "", "==")+value)
	}
	return "?" + strings.Join(parts, pick(f.random, "&", "&", ";", "&&"))
}

func (f *fuzzer) setHeaders(r *http.Request) {
	// Each request comes from elsewhere, so that the edge refuses none.
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", f.random.IntN(256), f.random.IntN(256), f.random.IntN(256)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+f.token)
	set := func(percent int, name string, values ...string) {
		if f.chance(percent) {
			r.Header.Set(name, pick(f.random, values...))
		}
	}
	set(15, "Content-Type", "", "text/plain", "application/merge-patch+json", "application/json; charset=utf-16", "application/x-www-form-urlencoded", ";", "a/b/c", "multipart/form-data")
	set(5, "Authorization", "", "Bearer", "Bearer ", "Basic eDp5", "bearer a.b.c", "Bearer "+strings.Repeat("a", 5000), "Bearer \x80", "Bearer a b")
	set(5, "Cookie", "session=x", "session=", "session=\"", "=;=;", "__Host-session=x; session=y", strings.Repeat("a=b;", 500))
	set(10, "Idempotency-Key", "", "k", strings.Repeat("k", 256), "\x80", "a b", f.name, "\t")
	set(5, "Origin", "null", "https://evil.example", "::", "")
	set(5, "Accept", "text/html", "*/*;q=x", "")
	set(5, "Content-Encoding", "gzip", "br")
	set(5, "Expect", "100-continue")
	set(5, "If-None-Match", "*", "\"")
	set(5, "Range", "bytes=0-1", "x")
	set(5, "X-Request-ID", "x", "<script>", strings.Repeat("x", 100))
	set(3, "X-Forwarded-For", "", "unknown", "999.1.1.1", "::1%eth0", ",,,", strings.Repeat("1.1.1.1,", 300))
}

// body is one that the schema describes, and then mostly is broken.
func (f *fuzzer) body(op *openapi3.Operation) []byte {
	var value any = map[string]any{pick(f.random, "title", "x", "reason"): f.anything(2)}
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Value.Content {
			value = f.valueOf(media.Schema, 0)
		}
	} else if f.chance(70) {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		f.t.Error(err)
	}
	return f.broken(data)
}

// valueOf is a value of the schema, parts of which are of another.
func (f *fuzzer) valueOf(ref *openapi3.SchemaRef, depth int) any {
	if ref == nil || ref.Value == nil || depth > 4 || f.chance(12) {
		return f.anything(3)
	}
	schema := ref.Value
	switch {
	case len(schema.Enum) > 0 && f.chance(80):
		return pick(f.random, schema.Enum...)
	case schema.Type.Includes("object") || len(schema.Properties) > 0:
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			if f.chance(75) {
				object[name] = f.valueOf(schema.Properties[name], depth+1)
			}
		}
		if f.chance(8) {
			object[f.text()] = f.anything(1)
		}
		return object
	case schema.Type.Includes("array"):
		list := []any{}
		for range f.random.IntN(13) {
			list = append(list, f.valueOf(schema.Items, depth+1))
		}
		return list
	case schema.Type.Includes("integer"), schema.Type.Includes("number"):
		return pick[any](f.random, 0, 1, -1, 1.5, 1<<40, json.RawMessage("9999999999999999999999"), json.RawMessage("1e999"), json.RawMessage("-0"), 10)
	case schema.Type.Includes("boolean"):
		return f.chance(50)
	}
	return f.text()
}

func (f *fuzzer) anything(depth int) any {
	switch f.random.IntN(9) {
	case 0:
		return nil
	case 1:
		return f.chance(50)
	case 2:
		return f.random.Int64() - f.random.Int64()
	case 3:
		return f.random.NormFloat64()
	case 4:
		if depth > 0 {
			return []any{f.anything(depth - 1), f.anything(depth - 1)}
		}
	case 5:
		if depth > 0 {
			return map[string]any{f.text(): f.anything(depth - 1)}
		}
	}
	return f.text()
}

// text is a string that has troubled programs before.
func (f *fuzzer) text() string {
	return pick(
		f.random, "", " ", "x", "milk tomorrow at 5pm #home !high", "2026-01-31T17:00:00Z", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60+24:00", "Europe/Berlin", "Mars/Base",
		"01890000-0000-7000-8000-000000000000", "'; DROP TABLE tasks; --", "<script>alert(1)</script>", "=1+1", "\x00", "a\u0000b", "\u202e", "é", "e\u0301", "😀", strings.Repeat("😀", 300),
		"\ufffd", "\ufeff", "../../etc/passwd", "%s%n", "${x}", "\r\nX: 1", strings.Repeat("x", 201), strings.Repeat("x", 10_001), strings.Repeat("#t ", 700), "true", "null", "-", "high", "free", "team",
	)
}

// broken breaks a body, most of the time.
func (f *fuzzer) broken(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	at := f.random.IntN(len(data))
	switch f.random.IntN(14) {
	case 0:
		return data[:at]
	case 1:
		data[at] = byte(f.random.IntN(256))
	case 2:
		return slices.Concat(data[:at], []byte(pick(f.random, "\x00", "\xff", `\ud800`, `"`, "{", "}", ",", "//", "NaN", `\u0000`)), data[at:])
	case 3:
		return slices.Concat(data, []byte(pick(f.random, " ", "{}", "x", "\n", "\x00")))
	case 4:
		return []byte(strings.Repeat("[", 20_000))
	case 5:
		return []byte(strings.Repeat(`{"a":`, 5_000) + "1" + strings.Repeat("}", 5_000))
	case 6:
		return bytes.Repeat([]byte(" "), 70<<10)
	case 7:
		return slices.Concat([]byte("\xef\xbb\xbf"), data)
	}
	return data
}
