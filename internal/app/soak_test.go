//go:build soak

package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/mobileclient"
)

// How long TestSoak runs, and with how many clients: `make soak` says.
var (
	soakFor     = flag.Duration("soak-for", 5*time.Minute, "how long the clients call")
	soakClients = flag.Int("soak-clients", 200, "how many clients there are")
)

// Two servers behind the proxy of docker-compose.yml, with Redis paused, killed and restarted, PostgreSQL restarted, one
// server killed and the other rolled, while clients of several kinds call. No write is lost or doubled, nobody within budget
// is refused, no server grows, and what fails does so only as docs/operations.md says, while its cause is in force.
func TestSoak(t *testing.T) {
	s := startSoak(t)
	ctx, stop := context.WithTimeout(t.Context(), *soakFor)
	defer stop()
	var clients sync.WaitGroup
	for i := range *soakClients {
		c := s.newClient(i)
		clients.Go(func() { c.run(ctx) })
	}
	clients.Go(func() { s.watch(ctx) })
	s.disturb()
	clients.Wait()
	s.report(t)
}

// A soak is the system under test, and what is known of it.
type soak struct {
	t        *testing.T
	issuer   *servertest.Issuer
	proxy    string // its URL
	redis    *redistest.Server
	database *devdb.Cluster
	data     string
	program  string
	env      []string
	began    time.Time

	windows []window
	clients []*soakClient
	mu      sync.Mutex // of servers, which are measured while they come and go
	servers []*soakServer
}

// A window is when something was broken on purpose.
type window struct {
	what     string
	from, to time.Time
}

// What was broken.
const (
	redisPaused    = "Redis is paused"
	redisKilled    = "Redis is killed and restarted"
	databaseEnded  = "PostgreSQL is restarted"
	serverKilled   = "a server is killed"
	serverReplaced = "a server is rolled"
)

// Connections that broke with what they led to are found out by whoever takes them next; a busy machine is late with it.
const aftermath = 5 * time.Second

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, issuer: servertest.StartIssuer(t), redis: redistest.Start(t), data: filepath.Join(t.TempDir(), "postgres"), began: time.Now()}
	s.startDatabase()
	t.Cleanup(func() { _ = errors.Join(s.database.Stop(), os.RemoveAll(s.database.Dir())) })
	s.program = filepath.Join(t.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", s.program, "../../cmd/server").CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	s.env = []string{
		"APP_ENV=development", "LOG_FORMAT=json", "LOG_LEVEL=warn", "TRUSTED_PROXIES=127.0.0.1", "REPLICAS=2", "SHUTDOWN_DRAIN=3s", "PUBLIC_URL=http://localhost:1",
		"DATABASE_URL=" + s.database.URL("postgres"), "REDIS_URL=" + s.redis.URL + "?read_timeout=250ms",
	}
	for name, value := range s.issuer.Env() {
		s.env = append(s.env, name+"="+value)
	}
	first, second := freeAddress(t), freeAddress(t)
	s.startProxy(first, second)
	s.startServer(first)
	s.startServer(second)
	return s
}

// startProxy runs Caddy with the file of docker-compose.yml, of which only the addresses differ.
func (s *soak) startProxy(servers ...string) {
	s.t.Helper()
	text, err := os.ReadFile("../../deploy/Caddyfile")
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "Caddyfile")
	changed := strings.NewReplacer("admin off", "admin off\n\tdefault_bind 127.0.0.1", "server-1:8080 server-2:8080", strings.Join(servers, " ")).Replace(string(text))
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.proxy = "http://" + freeAddress(s.t)
	cmd := exec.Command("caddy", "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "SITE="+s.proxy, "XDG_DATA_HOME="+s.t.TempDir(), "XDG_CONFIG_HOME="+s.t.TempDir())
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start Caddy, which `apt-get install caddy` brings: %v", err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func (s *soak) startDatabase() {
	s.t.Helper()
	database, err := devdb.Start(context.Background(), devdb.Config{DataDir: s.data, FastUnsafe: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.database = database
}

// A soakServer is one process.
type soakServer struct {
	cmd        *exec.Cmd
	addr       string
	url, admin string
	log        string // the file
	exited     chan error
	ended      atomic.Bool
	samples    []sample // one a second, of while it was called
}

// startServer returns when the server is ready, and the proxy may know of it.
func (s *soak) startServer(addr string) {
	s.t.Helper()
	admin := freeAddress(s.t)
	cmd := exec.Command(s.program, "serve")
	cmd.Env = append(os.Environ(), append(s.env, "HTTP_ADDR="+addr, "ADMIN_ADDR="+admin)...)
	log, err := os.Create(filepath.Join(s.t.TempDir(), "server.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	one := &soakServer{cmd: cmd, addr: addr, url: "http://" + addr, admin: "http://" + admin, log: log.Name(), exited: make(chan error, 1)}
	go func() { one.exited <- cmd.Wait() }()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		log.Close()
	})
	for deadline := time.Now().Add(time.Minute); !isReady(s.t.Context(), one.url); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the server at %s is not ready", addr)
		}
	}
	s.mu.Lock()
	s.servers = append(s.servers, one)
	s.mu.Unlock()
	time.Sleep(2 * time.Second) // Twice as long as the proxy's health_interval.
}

// disturb breaks one thing after the other, at fixed parts of the time. What it sleeps is how long each stays broken.
func (s *soak) disturb() {
	s.began = time.Now()
	s.at(0.15, func() {
		s.during(redisPaused, func() { s.redis.Pause(); time.Sleep(3 * time.Second); s.redis.Resume() })
	})
	s.at(0.25, func() {
		s.during(redisKilled, func() { s.redis.Kill(); time.Sleep(5 * time.Second); s.redis.Restart() })
	})
	s.at(0.40, func() { s.during(databaseEnded, s.restartDatabase) })
	s.at(0.60, s.killServer)
	s.at(0.70, func() { s.during(serverReplaced, s.rollServer) })
}

// at does something when a part of the time is over.
func (s *soak) at(part float64, do func()) {
	time.Sleep(time.Until(s.began.Add(time.Duration(part * float64(*soakFor)))))
	do()
}

func (s *soak) restartDatabase() {
	if err := s.database.Stop(); err != nil {
		s.t.Error(err)
	}
	time.Sleep(2 * time.Second) // How long it is away.
	s.startDatabase()
}

func (s *soak) killServer() {
	s.during(serverKilled, func() {
		s.servers[0].ended.Store(true)
		_ = s.servers[0].cmd.Process.Kill()
		<-s.servers[0].exited
	})
	s.startServer(s.servers[0].addr)
}

func (s *soak) rollServer() {
	s.servers[1].ended.Store(true)
	if err := s.servers[1].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Error(err)
	}
	if err := <-s.servers[1].exited; err != nil {
		s.t.Errorf("the server that was told to end did so with %v", err)
	}
	s.startServer(s.servers[1].addr)
}

func (s *soak) during(what string, do func()) {
	w := window{what: what, from: time.Now()}
	do()
	w.to = time.Now()
	s.windows = append(s.windows, w)
}

// A sample is what a server used at a moment.
type sample struct{ goroutines, resident float64 }

// watch takes a sample of each server that runs, every second.
func (s *soak) watch(ctx context.Context) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-second.C:
		}
		s.mu.Lock()
		servers := slices.Clone(s.servers)
		s.mu.Unlock()
		for _, one := range servers {
			if one.ended.Load() {
				continue
			}
			if now, err := one.sample(ctx); err == nil {
				one.samples = append(one.samples, now)
			} else if !one.ended.Load() && ctx.Err() == nil {
				s.t.Errorf("measure %s: %v", one.url, err)
			}
		}
	}
}

func (one *soakServer) sample(ctx context.Context) (sample, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, one.admin+"/metrics", http.NoBody)
	if err != nil {
		return sample{}, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return sample{}, err
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = n
		}
	}
	return sample{all["go_goroutines"], all["process_resident_memory_bytes"] / (1 << 20)}, lines.Err()
}

// A soakClient calls as one person, and writes down what it was told.
type soakClient struct {
	s      *soak
	kind   string
	name   string
	token  string
	sdk    *mobileclient.Client
	plain  *http.Client
	events []event
	tasks  map[string]state // by title
	ids    map[string]string
}

// An event is one call: what came of it, when it was under way, and under which ID a server's log has it.
type event struct {
	outcome, method, id string
	from, to            time.Time
}

// A state is what a client may conclude of a task that it wrote.
type state int

const (
	refused   state = iota // not there
	there                  // there once
	deleted                // not there
	uncertain              // there once, or not
)

func (s *soak) newClient(i int) *soakClient {
	kind := []string{"SDK", "SDK", "plain", "plain", "reader", "spray"}[i%6]
	c := &soakClient{
		s: s, kind: kind, name: fmt.Sprint("client-", i), tasks: map[string]state{}, ids: map[string]string{},
		token: s.issuer.Token(fmt.Sprint("client-", i), fmt.Sprint("org-", i)),
	}
	from := fmt.Sprintf("127.9.%d.%d", i/200, i%200+1)
	if kind == "spray" {
		from, c.token = fmt.Sprintf("127.8.0.%d", i%5+1), "not.a.token"
	}
	c.plain = clientFrom(from)
	var err error
	c.sdk, err = mobileclient.New(s.proxy, mobileclient.WithTokenSource(mobileclient.StaticToken(c.token)), mobileclient.WithHTTPClient(c.plain))
	if err != nil {
		s.t.Fatal(err)
	}
	s.clients = append(s.clients, c)
	return c
}

// clientFrom connects from an address of its own, as people do: the proxy believes nobody else about it.
func clientFrom(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: time.Minute}
}

// run calls about twice in three seconds, well within each budget.
func (c *soakClient) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		e := c.call(n) //nolint:contextcheck // A call that has begun is answered, so that it is known what it did.
		e.from, e.to = began, time.Now()
		c.events = append(c.events, e)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second + rand.N(time.Second)):
		}
	}
}

// noAnswer is the outcome of a call whose connection broke; all others are the status.
const noAnswer = "no answer"

// call does one thing and says what came of it.
func (c *soakClient) call(n int) event {
	title := fmt.Sprintf("%s-%d", c.name, n)
	switch {
	case c.kind == "reader" || c.kind == "spray":
		return c.send(http.MethodGet, []string{"/api/v1/me", "/api/v1/tasks", "/api/v1/limits"}[n%3], "", "")
	case n%2 == 1:
		return c.send(http.MethodGet, "/api/v1/tasks?limit=5", "", "")
	case n%6 == 4:
		return c.remove(fmt.Sprintf("%s-%d", c.name, n-2))
	case c.kind == "SDK":
		return c.createBySDK(title)
	}
	e := c.send(http.MethodPost, "/api/v1/tasks", `{"title":"`+title+`"}`, title)
	c.tasks[title] = concluded(e.outcome, "201", there)
	return e
}

func (c *soakClient) createBySDK(title string) event {
	task, err := c.sdk.CreateTask(context.Background(), api.TaskCreate{Title: title})
	if err == nil {
		c.tasks[title], c.ids[title] = there, task.ID
		return event{outcome: "201", method: http.MethodPost}
	}
	e := event{outcome: noAnswer, method: http.MethodPost}
	if refusal, ok := errors.AsType[*mobileclient.Error](err); ok {
		e.outcome, e.id = strconv.Itoa(refusal.Status), refusal.RequestID
	}
	c.tasks[title] = concluded(e.outcome, "201", there)
	return e
}

// remove deletes a task whose id is known.
func (c *soakClient) remove(title string) event {
	id := c.ids[title]
	if id == "" {
		return c.send(http.MethodGet, "/api/v1/org", "", "")
	}
	e := c.send(http.MethodDelete, "/api/v1/tasks/"+id, "", "")
	if was := concluded(e.outcome, "204", deleted); was != refused {
		c.tasks[title] = was
	}
	return e
}

// concluded is what an outcome says of a write: done, not done, or nothing.
func concluded(outcome, success string, done state) state {
	switch {
	case outcome == success:
		return done
	case outcome == "409":
		return uncertain // An earlier try of the same write is still under way.
	case strings.HasPrefix(outcome, "4"):
		return refused
	}
	return uncertain
}

func (c *soakClient) send(method, path, body, key string) event {
	e := event{outcome: noAnswer, method: method}
	r, err := http.NewRequestWithContext(context.Background(), method, c.s.proxy+path, strings.NewReader(body))
	if err != nil {
		c.s.t.Error(err)
		return e
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if key != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.plain.Do(r)
	if err != nil {
		return e
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return e
	}
	e.outcome, e.id = strconv.Itoa(resp.StatusCode), resp.Header.Get(api.HeaderRequestID)
	return e
}

// report prints what happened as tables, and fails for each answer that should not have been.
func (s *soak) report(t *testing.T) {
	t.Helper()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer out.Flush()
	causes := s.causes(t)
	fmt.Fprintf(out, "\nCLIENTS\tKIND\tOUTCOME\tCALLS\tUNEXPECTED\n")
	for _, kind := range []string{"SDK", "plain", "reader", "spray"} {
		calls, wrong, n := map[string]int{}, map[string]int{}, 0
		for _, c := range s.clients {
			if c.kind != kind {
				continue
			}
			n++
			for _, e := range c.events {
				calls[e.outcome]++
				if !s.expected(kind, e, causes[e.id]) {
					wrong[e.outcome]++
					t.Errorf("%s (%s): %s %s from %v to %v, because: %s", c.name, kind, e.method, e.outcome, s.since(e.from), s.since(e.to), causes[e.id])
				}
			}
		}
		for _, outcome := range slices.Sorted(maps.Keys(calls)) {
			fmt.Fprintf(out, "%d\t%s\t%s\t%d\t%d\n", n, kind, outcome, calls[outcome], wrong[outcome])
		}
	}
	s.tableOfFailures(out, causes)
	s.reconcile(t, out)
	s.tableOfServers(t, out)
}

func (s *soak) since(at time.Time) time.Duration {
	return at.Sub(s.began).Round(100 * time.Millisecond)
}

// expected says whether an outcome may be. Of 5xx these are all that docs/operations.md has for user routes: 503 while PostgreSQL
// is away, and that being the cause; the proxy's 502 for a write that was under way in the server that was killed.
func (s *soak) expected(kind string, e event, cause string) bool {
	switch e.outcome {
	case "200", "201", "204":
		return kind != "spray"
	case "401", "429":
		return kind == "spray"
	case "503":
		return kind != "spray" && s.within(databaseEnded, e) && strings.Contains(cause, store.ErrUnavailable.Error())
	case "409": // An earlier try of the same write has not ended, or was cut off.
		return kind == "SDK" && (s.within(databaseEnded, e) || s.within(serverKilled, e))
	case "502":
		return e.method != http.MethodGet && s.within(serverKilled, e)
	}
	return false
}

// within tells whether a call was under way while something was broken, or shortly after.
func (s *soak) within(what string, e event) bool {
	return slices.ContainsFunc(s.windows, func(w window) bool {
		return w.what == what && e.to.After(w.from) && e.from.Before(w.to.Add(aftermath))
	})
}

// causes are those of 5xx, by the ID of the request, from what the servers logged.
func (s *soak) causes(t *testing.T) map[string]string {
	t.Helper()
	causes := map[string]string{}
	for _, one := range s.servers {
		text, err := os.ReadFile(one.log)
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(text)) {
			var record struct {
				ID    string `json:"request_id"`
				Cause string `json:"cause"`
			}
			if json.Unmarshal([]byte(line), &record) == nil && record.Cause != "" {
				causes[record.ID] = record.Cause
			}
		}
	}
	return causes
}

// tableOfFailures sets what was broken beside the answers that failed meanwhile, with the causes that the servers logged.
func (s *soak) tableOfFailures(out io.Writer, causes map[string]string) {
	fmt.Fprintf(out, "\nBROKEN ON PURPOSE\tFROM\tTO\n")
	for _, w := range s.windows {
		fmt.Fprintf(out, "%s\t%v\t%v\n", w.what, s.since(w.from), s.since(w.to))
	}
	type failure struct {
		times       int
		first, last time.Time
	}
	failures := map[string]failure{}
	for _, c := range s.clients {
		for _, e := range c.events {
			if e.outcome < "500" {
				continue
			}
			what := fmt.Sprintf("%s\t%.100s", e.outcome, causes[e.id])
			f := failures[what]
			if f.times == 0 || e.to.Before(f.first) {
				f.first = e.to
			}
			if e.to.After(f.last) {
				f.last = e.to
			}
			f.times++
			failures[what] = f
		}
	}
	fmt.Fprintf(out, "\nFAILED\tFIRST\tLAST\tOUTCOME\tCAUSE\n")
	for _, what := range slices.Sorted(maps.Keys(failures)) {
		f := failures[what]
		fmt.Fprintf(out, "%d\t%v\t%v\t%s\n", f.times, s.since(f.first), s.since(f.last), what)
	}
}

// reconcile compares what clients were told with what is in the database.
func (s *soak) reconcile(t *testing.T, out io.Writer) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.database.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "SELECT title, count(*) FROM tasks GROUP BY title")
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]int{}
	var title string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&title, &n}, func() error { stored[title] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	var tally [4]int
	lost, doubled, ghosts := 0, 0, 0
	for _, c := range s.clients {
		for title, was := range c.tasks {
			tally[was]++
			switch n := stored[title]; {
			case n > 1:
				doubled++
			case was == there && n == 0:
				lost++
			case (was == refused || was == deleted) && n > 0:
				ghosts++
			}
		}
	}
	fmt.Fprintf(out, "\nWRITES\tCREATED\tDELETED\tREFUSED\tUNCERTAIN\tLOST\tDOUBLED\tTHERE THOUGH REFUSED OR DELETED\n\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n",
		tally[there], tally[deleted], tally[refused], tally[uncertain], lost, doubled, ghosts)
	if lost+doubled+ghosts > 0 || tally[there] == 0 {
		t.Errorf("%d writes lost, %d doubled, %d there that should not be", lost, doubled, ghosts)
	}
}

// How long a server takes to fill its pools and caches, and how long it has to be watched after that to say whether it grows.
const (
	warmUp  = 15 // samples, one a second
	watched = 30
)

// tableOfServers compares the middle of what each server used in the first and in the last third of the time that it was
// called. Flat means: within what load by itself moves, a connection's goroutines and a collection's memory.
func (s *soak) tableOfServers(t *testing.T, out io.Writer) {
	t.Helper()
	fmt.Fprintf(out, "\nSERVER\tSECONDS\tGOROUTINES AT FIRST\tAT LAST\tRESIDENT MIB AT FIRST\tAT LAST\n")
	judged := 0
	for i, one := range s.servers {
		if len(one.samples) < warmUp+watched {
			fmt.Fprintf(out, "%d\t%d\ttoo short\t\t\t\n", i+1, len(one.samples))
			continue
		}
		judged++
		warm := one.samples[warmUp:]
		first, last := median(warm[:len(warm)/3]), median(warm[len(warm)-len(warm)/3:])
		fmt.Fprintf(out, "%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f\n", i+1, len(one.samples), first.goroutines, last.goroutines, first.resident, last.resident)
		if last.goroutines > first.goroutines+50 || last.resident > 1.25*first.resident+8 {
			t.Errorf("server %d grows", i+1)
		}
	}
	if judged == 0 {
		t.Error("no server ran long enough to say whether it grows: take 2 minutes or more")
	}
}

// median is the middle of each number by itself.
func median(samples []sample) sample {
	goroutines, resident := make([]float64, len(samples)), make([]float64, len(samples))
	for i, one := range samples {
		goroutines[i], resident[i] = one.goroutines, one.resident
	}
	slices.Sort(goroutines)
	slices.Sort(resident)
	return sample{goroutines[len(samples)/2], resident[len(samples)/2]}
}
