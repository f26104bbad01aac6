package mobileclient

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/slidinglog"
)

var update = flag.Bool("update", false, "write api/testdata/limiter.json anew")

// vectorFile holds what the limiters in Go and in TypeScript must both do. Times are milliseconds.
var vectorFile = filepath.Join("..", "api", "testdata", "limiter.json")

// A vectorCase is one history of a limiter: what happened to it, when, and what it said.
type vectorCase struct {
	Name    string         `json:"name"`
	Budgets []vectorBudget `json:"budgets"`
	Steps   []vectorStep   `json:"steps"`
}

type vectorBudget struct {
	Name     string `json:"name"`
	Limit    int64  `json:"limit"`
	WindowMS int64  `json:"windowMs"`
	// Learned is a budget that is not counted, only learned of.
	Learned bool `json:"learned,omitempty"`
	// Metered is a budget that a call costs more than one unit of.
	Metered bool `json:"metered,omitempty"`
}

// A vectorStep is one thing that happens. Do is
//
//   - acquire: the call named Call wants a unit of each of Budgets, and gets what Want says;
//   - answer: its answer is in, with Status and headers; fail: there is none, and it may still arrive; return: it never left;
//   - ask: the server is asked for the limits; limits: it answers with Limits.
//
// Left is what each budget, in the case's order, then says to one more call: what remains, null where nothing bounds it, and
// the wait, 0 if it would be let pass and null where none helps.
type vectorStep struct {
	At         int64         `json:"at"`
	Do         string        `json:"do"`
	Call       int           `json:"call,omitempty"`
	Budgets    []string      `json:"budgets,omitempty"`
	Status     int           `json:"status,omitempty"`
	Policy     string        `json:"policy,omitempty"`
	RateLimit  string        `json:"rateLimit,omitempty"`
	RetryAfter string        `json:"retryAfter,omitempty"`
	Replayed   bool          `json:"replayed,omitempty"`
	Limits     []vectorLimit `json:"limits,omitempty"`
	Want       *vectorWant   `json:"want,omitempty"`
	Left       [][2]*int64   `json:"left,omitempty"`
}

type vectorLimit struct {
	Name      string `json:"name"`
	Limit     *int64 `json:"limit"`
	WindowS   int64  `json:"windowSeconds"`
	Remaining *int64 `json:"remaining"`
	ResetMS   int64  `json:"resetMs"`
	Enforced  bool   `json:"enforced"`
}

// A vectorWant is a decision.
type vectorWant struct {
	OK       bool     `json:"ok"`
	RetryMS  *int64   `json:"retryMs"`
	Refusing []string `json:"refusing,omitempty"`
}

// TestVectors holds the mirror to the file that holds the web's limiter too.
func TestVectors(t *testing.T) {
	t.Parallel()
	cases := handWritten()
	for seed := range uint64(8) {
		cases = append(cases, randomCase(seed))
	}
	for i := range cases {
		cases[i].play(t)
	}
	got := encodeVectors(t, cases)
	if *update {
		if err := os.WriteFile(vectorFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			t.Fatalf("%s:%d: the mirror does\n%s\nand the file says\n%s\nIf the mirror is right: go test ./mobileclient -run Vectors -update", vectorFile, i+1, gotLines[i], wantLines[i])
		}
	}
	t.Fatalf("%s has %d lines, want %d: go test ./mobileclient -run Vectors -update", vectorFile, len(wantLines), len(gotLines))
}

// encodeVectors writes a step a line, so that a change can be read.
func encodeVectors(t *testing.T, cases []vectorCase) []byte {
	t.Helper()
	line := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var out bytes.Buffer
	separator := "[\n"
	for _, c := range cases {
		fmt.Fprintf(&out, "%s{\"name\": %s,\n\"budgets\": %s,\n\"steps\": ", separator, line(c.Name), line(c.Budgets))
		separator = "[\n"
		for _, step := range c.Steps {
			fmt.Fprintf(&out, "%s%s", separator, line(step))
			separator = ",\n"
		}
		out.WriteString("\n]}")
	}
	out.WriteString("\n]\n")
	return out.Bytes()
}

// A player is a mirror on a clock that the steps set.
type player struct {
	m       *mirror
	now     time.Duration
	cred    *credential
	tickets map[int]*ticket
	asked   snapshot
}

// newPlayer makes a mirror of the case's budgets alone, without jitter, for a person whom the server knows.
func newPlayer(c *vectorCase) *player {
	s := mirrorSettings{
		budgets: map[string]allowance{}, guard: defaultGuard, grace: defaultGrace, raise: true,
		jitter: func(time.Duration) time.Duration { return 0 },
	}
	for _, b := range c.Budgets {
		s.budgets[b.Name] = allowance{limit: b.Limit, window: millis(b.WindowMS), learned: b.Learned, metered: b.Metered, share: 1}
	}
	p := &player{m: newMirror(s), cred: &credential{identity: "alice", accepted: true}, tickets: map[int]*ticket{}}
	p.m.now = func() time.Duration { return p.now }
	person := p.m.person("alice")
	person.met, person.cred = true, p.cred
	return p
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// play fills in what the mirror says. Where a step says already what is wanted, it must say so.
func (c *vectorCase) play(t *testing.T) {
	t.Helper()
	p := newPlayer(c)
	for i := range c.Steps {
		step := &c.Steps[i]
		p.now = millis(step.At)
		want := step.Want
		p.do(step)
		if want != nil && describe(want) != describe(step.Want) {
			t.Fatalf("step %d of %q decided %s, want %s", i+1, c.Name, describe(step.Want), describe(want))
		}
		step.Left = p.left(c.Budgets)
	}
}

// do does a step, and notes the decision of one that acquires.
func (p *player) do(step *vectorStep) {
	switch step.Do {
	case "acquire":
		step.Want = p.acquire(step)
	case "answer":
		p.tickets[step.Call].noteConnected()
		p.tickets[step.Call].answered(step.response())
	case "fail":
		p.tickets[step.Call].noteConnected()
		p.tickets[step.Call].failed(true)
	case "return":
		p.tickets[step.Call].failed(true)
	case "ask":
		p.asked = p.m.snapshot(p.cred)
	case "limits":
		p.m.adopt(p.asked, p.cred, step.limits())
	default:
		panic("no step does " + step.Do)
	}
}

func describe(w *vectorWant) string { text, _ := json.Marshal(w); return string(text) }

func (p *player) acquire(step *vectorStep) *vectorWant {
	w := p.m.enter(context.Background(), call{charges: step.Budgets, endpoint: "/", settings: callSettings{key: "k"}}, p.cred)
	if w.refusal == nil {
		p.tickets[step.Call] = w.ticket
		return &vectorWant{OK: true, RetryMS: new(int64)}
	}
	refused := &vectorWant{Refusing: w.refusal.Details.Budgets}
	if w.refusal.Details.RetryAfter > 0 {
		refused.RetryMS = &w.refusal.Details.RetryAfter
	}
	return refused
}

func (s *vectorStep) response() *http.Response {
	h := http.Header{}
	for name, value := range map[string]string{api.HeaderRateLimitPolicy: s.Policy, api.HeaderRateLimit: s.RateLimit, api.HeaderRetryAfter: s.RetryAfter} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if s.Replayed {
		h.Set(api.HeaderIdempotencyReplayed, "true")
	}
	return &http.Response{StatusCode: s.Status, Header: h}
}

func (s *vectorStep) limits() api.Limits {
	limits := api.Limits{Caller: api.LimitsCaller{Kind: "user"}}
	for _, l := range s.Limits {
		limits.Budgets = append(limits.Budgets, api.LimitStatus{
			Name: l.Name, Per: api.PerUser, Limit: l.Limit, WindowSeconds: l.WindowS, Remaining: l.Remaining, ResetMS: l.ResetMS, Enforced: l.Enforced,
		})
	}
	return limits
}

func (p *player) left(budgets []vectorBudget) [][2]*int64 {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	rows := make([][2]*int64, len(budgets))
	for i, b := range budgets {
		v := p.m.window(p.m.person("alice"), windowKey{budget: b.Name}).look(p.now)
		if v.remaining < math.MaxInt64 {
			rows[i][0] = &v.remaining
		}
		if v.wait != slidinglog.Never {
			wait := v.wait.Milliseconds()
			rows[i][1] = &wait
		}
	}
	return rows
}

// handWritten are the cases whose decisions are worked out by hand.
func handWritten() []vectorCase {
	two := []vectorBudget{{Name: "a", Limit: 2, WindowMS: 1000}, {Name: "b", Limit: 3, WindowMS: 60_000}}
	pass, wait := &vectorWant{OK: true, RetryMS: new(int64)}, func(ms int64, refusing ...string) *vectorWant {
		return &vectorWant{RetryMS: &ms, Refusing: refusing}
	}
	acquire := func(at int64, call int, want *vectorWant, budgets ...string) vectorStep {
		return vectorStep{At: at, Do: "acquire", Call: call, Budgets: budgets, Want: want}
	}
	answer := func(at int64, call int) vectorStep { return vectorStep{At: at, Do: "answer", Call: call, Status: 200} }
	return []vectorCase{
		{"a slot is held until the answer, the window and the guard", two, []vectorStep{
			acquire(0, 1, pass, "a"), acquire(0, 2, pass, "a"), acquire(500, 3, wait(1010, "a"), "a"),
			answer(700, 1), acquire(1709, 3, wait(1, "a"), "a"), acquire(1710, 3, pass, "a"), acquire(9000, 4, wait(1010, "a"), "a"),
		}},
		{"all budgets or none", two, []vectorStep{
			acquire(0, 1, pass, "b"), acquire(0, 2, pass, "b"), acquire(0, 3, pass, "b"), answer(10, 1), answer(20, 2), answer(30, 3),
			acquire(100, 4, wait(60_510, "b"), "a", "b"), acquire(100, 5, pass, "a"), acquire(100, 6, pass, "a"),
			acquire(100, 7, wait(60_510, "a", "b"), "a", "b"),
		}},
		{"what never left is given back, what may still arrive is held longer", two, []vectorStep{
			acquire(0, 1, pass, "a"), acquire(0, 2, pass, "a"),
			{At: 100, Do: "return", Call: 1},
			acquire(100, 3, pass, "a"),
			{At: 200, Do: "fail", Call: 2},
			answer(200, 3), acquire(1210, 4, pass, "a"), acquire(1210, 5, wait(1010, "a"), "a"),
			answer(1210, 4), acquire(11_209, 6, pass, "a"), acquire(11_209, 7, wait(1, "a"), "a"), acquire(11_210, 7, pass, "a"),
		}},
		{"a refusal blocks until Retry-After, then one probes", two, []vectorStep{
			acquire(0, 1, pass, "b"),
			{At: 50, Do: "answer", Call: 1, Status: 429, RateLimit: `"b";r=0;t=20`, RetryAfter: "20"},
			acquire(60, 2, wait(19_990, "b"), "a", "b"), acquire(60, 2, pass, "a"), acquire(20_049, 3, wait(1, "b"), "b"),
			acquire(20_050, 3, pass, "b"), acquire(20_051, 4, wait(1000, "b"), "b"), answer(20_100, 3), acquire(20_101, 4, pass, "b"),
		}},
		{"a probe that is lost lets another try, one that is refused blocks again", two, []vectorStep{
			acquire(0, 1, pass, "b"),
			{At: 0, Do: "answer", Call: 1, Status: 429, RetryAfter: "5"},
			acquire(5000, 2, pass, "b"),
			{At: 5010, Do: "return", Call: 2},
			acquire(5020, 3, pass, "b"),
			{At: 5030, Do: "answer", Call: 3, Status: 429, RetryAfter: "7"},
			acquire(12_029, 4, wait(1, "b"), "b"), acquire(12_030, 4, pass, "b"),
		}},
		{"a block of hours is probed after a minute, one without Retry-After after a second", two, []vectorStep{
			acquire(0, 1, pass, "a"),
			{At: 0, Do: "answer", Call: 1, Status: 429, RetryAfter: "18000"},
			acquire(59_999, 2, wait(1, "a"), "a"), acquire(60_000, 2, pass, "a"),
			{At: 60_000, Do: "answer", Call: 2, Status: 429},
			acquire(60_999, 3, wait(1, "a"), "a"), acquire(61_000, 3, pass, "a"),
		}},
		{"what others spent is set aside", two, []vectorStep{
			acquire(0, 1, pass, "b"),
			{At: 10, Do: "answer", Call: 1, Status: 200, Policy: `"b";q=3;w=60`, RateLimit: `"b";r=1;t=30`},
			acquire(20, 2, pass, "b"), acquire(30, 3, wait(29_980, "b"), "b"), acquire(30_010, 3, pass, "b"),
		}},
		{"an older answer teaches nothing", two, []vectorStep{
			acquire(0, 1, pass, "b"), acquire(1, 2, pass, "b"), answer(5, 2),
			{At: 9, Do: "answer", Call: 1, Status: 200, RateLimit: `"b";r=0;t=30`},
			acquire(10, 3, pass, "b"),
		}},
		{"a policy lowers, and one of a longer window is shared out", two, []vectorStep{
			acquire(0, 1, pass, "b"),
			{At: 0, Do: "answer", Call: 1, Status: 200, Policy: `"b";q=2;w=60`, RateLimit: `"b";r=1;t=60`},
			acquire(1, 2, pass, "b"), acquire(2, 3, wait(60_598, "b"), "b"),
			{At: 3, Do: "answer", Call: 2, Status: 200, Policy: `"b";q=9;w=120`},
			acquire(4, 3, pass, "b"), acquire(5, 4, wait(60_595, "b"), "b"),
		}},
		{"malformed headers teach nothing", two, []vectorStep{
			acquire(0, 1, pass, "b"),
			{At: 0, Do: "answer", Call: 1, Status: 200, Policy: `"b";q=-1;w=60`, RateLimit: `"b";r=0;t=`, RetryAfter: "soon"},
			acquire(0, 2, pass, "b"),
			{At: 0, Do: "answer", Call: 2, Status: 429, RateLimit: `"b";r=0, ,`, RetryAfter: "1.5"},
			acquire(999, 3, wait(1, "b"), "b"), acquire(1000, 3, pass, "b"),
		}},
		{"a replay costs nothing", two, []vectorStep{
			acquire(0, 1, pass, "b"), acquire(0, 2, pass, "b"), acquire(0, 3, pass, "b"),
			{At: 5, Do: "answer", Call: 2, Status: 201, Replayed: true},
			acquire(5, 4, pass, "b"), acquire(5, 5, wait(60_600, "b"), "b"),
		}},
		{"a limit of 0 is never waited for, and limits.get raises and lowers", []vectorBudget{{Name: "a", Limit: 0, WindowMS: 1000}}, []vectorStep{
			acquire(0, 1, &vectorWant{Refusing: []string{"a"}}, "a"),
			{At: 1, Do: "ask"},
			{At: 2, Do: "limits", Limits: []vectorLimit{{Name: "a", Limit: new(int64(2)), WindowS: 1, Remaining: new(int64(2)), Enforced: true}}},
			acquire(3, 1, pass, "a"), acquire(3, 2, pass, "a"), acquire(3, 3, wait(1010, "a"), "a"),
			{At: 4, Do: "ask"},
			{At: 5, Do: "limits", Limits: []vectorLimit{{Name: "a", WindowS: 1, Enforced: true}}},
			acquire(6, 3, pass, "a"),
			{At: 7, Do: "ask"},
			{At: 8, Do: "limits", Limits: []vectorLimit{{Name: "a", Limit: new(int64(1)), WindowS: 1, Remaining: new(int64(1))}}},
			acquire(9, 4, pass, "a"),
		}},
		{"a budget of others is learned of", []vectorBudget{{Name: "o", Limit: 600, WindowMS: 60_000, Learned: true}}, []vectorStep{
			acquire(0, 1, pass, "o"),
			{At: 1, Do: "answer", Call: 1, Status: 200, Policy: `"o";q=600;w=60`, RateLimit: `"o";r=1;t=2`},
			acquire(2, 2, pass, "o"), acquire(3, 3, wait(1998, "o"), "o"), answer(4, 2), acquire(5, 3, pass, "o"),
		}},
		{"a metered budget refuses with some left", []vectorBudget{two[1], {Name: "m", Limit: 100, WindowMS: 90_000, Learned: true, Metered: true}}, []vectorStep{
			acquire(0, 1, pass, "b", "m"),
			{At: 1, Do: "answer", Call: 1, Status: 429, RateLimit: `"b";r=2;t=60, "m";r=40;t=2`, RetryAfter: "30"},
			acquire(2, 2, wait(29_999, "m"), "b", "m"), acquire(2, 2, pass, "b"), acquire(30_001, 3, pass, "b", "m"),
		}},
	}
}

// An author makes up what happens.
type author struct {
	chance *rand.Rand
	c      vectorCase
	p      *player
	at     int64
	calls  int
	flying []int
}

// randomCase makes a history by chance. It plays it while it goes, to know which calls are under way.
func randomCase(seed uint64) vectorCase {
	a := &author{chance: rand.New(rand.NewPCG(seed, 7)), c: vectorCase{Name: fmt.Sprintf("by chance, %d", seed), Budgets: []vectorBudget{
		{Name: "burst", Limit: 3, WindowMS: 1000},
		{Name: "route", Limit: 8, WindowMS: 10_000},
		{Name: "user", Limit: 20, WindowMS: 60_000},
		{Name: "others", Limit: 60, WindowMS: 60_000, Learned: true},
		{Name: "tokens", Limit: 900, WindowMS: 90_000, Learned: true, Metered: true},
	}}}
	a.p = newPlayer(&a.c)
	for range 60 {
		a.at += a.pause()
		a.p.now = millis(a.at)
		step := a.step()
		step.At = a.at
		a.p.do(&step)
		if step.Want != nil && step.Want.OK {
			a.flying = append(a.flying, step.Call)
		}
		a.c.Steps = append(a.c.Steps, step)
	}
	return a.c
}

func (a *author) pause() int64 {
	switch {
	case a.chance.IntN(25) == 0:
		return a.chance.Int64N(70_000)
	case a.chance.IntN(5) == 0:
		return a.chance.Int64N(4000)
	}
	return a.chance.Int64N(300)
}

func (a *author) step() vectorStep {
	n := a.chance.IntN(20)
	switch {
	case n < 11 || len(a.flying) == 0:
		a.calls++
		names := [][]string{{"burst", "route", "user", "others", "tokens"}, {"route", "user", "others"}, {"user", "others", "tokens"}, {"user"}}
		return vectorStep{Do: "acquire", Call: a.calls, Budgets: names[a.chance.IntN(len(names))]}
	case n < 17:
		return a.answer()
	case n == 17:
		return vectorStep{Do: "fail", Call: a.land()}
	case n == 18:
		return vectorStep{Do: "return", Call: a.land()}
	case a.p.asked.marks == nil || a.chance.IntN(2) == 0:
		return vectorStep{Do: "ask"}
	}
	return a.limits()
}

func (a *author) land() int {
	i := a.chance.IntN(len(a.flying))
	call := a.flying[i]
	a.flying = slices.Delete(a.flying, i, i+1)
	return call
}

func (a *author) answer() vectorStep {
	s := vectorStep{Do: "answer", Call: a.land(), Status: []int{200, 200, 200, 201, 404, 422, 500}[a.chance.IntN(7)], Replayed: a.chance.IntN(15) == 0}
	if a.chance.IntN(6) == 0 {
		s.Status, s.RetryAfter = http.StatusTooManyRequests, []string{"", "1", "3", "20", "100", "x"}[a.chance.IntN(6)]
	}
	if a.chance.IntN(12) == 0 {
		s.Policy, s.RateLimit = `"user";q`, `"user";r=1;t=`
		return s
	}
	var policies []api.Policy
	var services []api.Service
	for _, b := range a.c.Budgets {
		if a.chance.IntN(3) == 0 {
			continue
		}
		quota := []int64{b.Limit, b.Limit, b.Limit, b.Limit / 2, 3 * b.Limit}[a.chance.IntN(5)]
		window := millis(b.WindowMS * []int64{1, 1, 1, 2}[a.chance.IntN(4)])
		policies = append(policies, api.Policy{Name: b.Name, Quota: quota, Window: window})
		left, reset := a.chance.Int64N(quota+1), a.chance.Int64N(b.WindowMS/1000+1)
		services = append(services, api.Service{Name: b.Name, Remaining: left, Reset: time.Duration(reset) * time.Second, HasReset: a.chance.IntN(5) > 0})
	}
	s.Policy, s.RateLimit = api.FormatPolicies(policies), api.FormatServices(services)
	return s
}

func (a *author) limits() vectorStep {
	s := vectorStep{Do: "limits"}
	for _, b := range a.c.Budgets {
		l := vectorLimit{Name: b.Name, WindowS: b.WindowMS / 1000, Enforced: a.chance.IntN(5) > 0}
		if a.chance.IntN(5) > 0 {
			limit := []int64{b.Limit, b.Limit / 2, 2 * b.Limit}[a.chance.IntN(3)]
			remaining := a.chance.Int64N(limit + 1)
			l.Limit, l.Remaining, l.ResetMS = &limit, &remaining, a.chance.Int64N(b.WindowMS)
		}
		s.Limits = append(s.Limits, l)
	}
	return s
}
