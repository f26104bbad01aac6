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
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/devdb"
	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/mobileclient"
)

// How long TestSoak runs, and with how many clients: `make soak` says.
var (
	soakFor     = flag.Duration("soak-for", 5*time.Minute, "how long the clients call")
	soakClients = flag.Int("soak-clients", 200, "how many clients there are")
)

// Two servers behind a balancer, with Redis paused, killed and restarted, PostgreSQL restarted, one server killed and the
// other rolled, while clients of several kinds call. No write is lost or doubled, nobody within budget is refused, and what
// fails does so only while that is to be expected.
func TestSoak(t *testing.T) {
	s := startSoak(t)
	ctx, stop := context.WithTimeout(t.Context(), *soakFor)
	defer stop()
	var clients sync.WaitGroup
	for i := range *soakClients {
		c := s.newClient(i)
		clients.Go(func() { c.run(ctx) })
	}
	s.disturb()
	clients.Wait()
	s.report(t)
}

// A soak is the system under test, and what is known of it.
type soak struct {
	t        *testing.T
	issuer   *servertest.Issuer
	balancer *balancer
	redis    *redistest.Server
	database *devdb.Cluster
	data     string
	program  string
	env      []string
	began    time.Time

	mu      sync.Mutex
	windows []window
	clients []*soakClient
	servers []*soakServer
}

// A window is when something was broken on purpose, and the time after it in which that may still show.
type window struct {
	what     string
	from, to time.Time
}

const aftermath = 10 * time.Second

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, issuer: servertest.StartIssuer(t), balancer: startBalancer(t), redis: redistest.Start(t), data: filepath.Join(t.TempDir(), "postgres"), began: time.Now()}
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
	s.startServer()
	s.startServer()
	s.balancer.awaitReady(t, 2)
	return s
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
	url, admin string
	log        string // the file
	exited     chan error
	first      map[string]float64
}

func (s *soak) startServer() *soakServer {
	s.t.Helper()
	addr, admin := freeAddress(s.t), freeAddress(s.t)
	cmd := exec.Command(s.program, "serve")
	cmd.Env = append(os.Environ(), append(s.env, "HTTP_ADDR="+addr, "ADMIN_ADDR="+admin)...)
	log, err := os.Create(filepath.Join(s.t.TempDir(), "server-"+addr+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	one := &soakServer{cmd: cmd, url: "http://" + addr, admin: "http://" + admin, log: log.Name(), exited: make(chan error, 1)}
	go func() { one.exited <- cmd.Wait() }()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		log.Close()
	})
	s.mu.Lock()
	s.servers = append(s.servers, one)
	s.mu.Unlock()
	s.balancer.add(one.url)
	return one
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// disturb breaks one thing after the other, at fixed parts of the time.
func (s *soak) disturb() {
	at := func(part float64) { time.Sleep(time.Until(s.began.Add(time.Duration(part * float64(*soakFor))))) }
	s.began = time.Now()
	at(0.10)
	s.measureFirst()
	at(0.15)
	s.during("Redis is paused", func() { s.redis.Pause(); time.Sleep(3 * time.Second); s.redis.Resume() })
	at(0.25)
	s.during("Redis is killed and restarted", func() { s.redis.Kill(); time.Sleep(5 * time.Second); s.redis.Restart() })
	at(0.40)
	s.during("PostgreSQL is restarted", func() {
		if err := s.database.Stop(); err != nil {
			s.t.Error(err)
		}
		time.Sleep(2 * time.Second)
		s.startDatabase()
	})
	at(0.60)
	s.during("a server is killed", func() {
		_ = s.servers[0].cmd.Process.Kill()
		<-s.servers[0].exited
		s.startServer()
		s.balancer.awaitReady(s.t, 2)
	})
	at(0.75)
	s.during("a server is rolled", func() {
		if err := s.servers[1].cmd.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Error(err)
		}
		if err := <-s.servers[1].exited; err != nil {
			s.t.Errorf("the server that was told to end did so with %v", err)
		}
		s.startServer()
		s.balancer.awaitReady(s.t, 2)
	})
	at(0.85)
	s.measureFirst()
}

func (s *soak) during(what string, do func()) {
	w := window{what: what, from: time.Now()}
	s.mu.Lock()
	s.windows = append(s.windows, w)
	n := len(s.windows) - 1
	s.mu.Unlock()
	do()
	s.mu.Lock()
	s.windows[n].to = time.Now()
	s.mu.Unlock()
}

// measureFirst reads what servers use before the load can have made it grow, once each.
func (s *soak) measureFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.servers {
		if one.first == nil {
			one.first, _ = gauges(one.admin)
		}
	}
}

func gauges(admin string) (map[string]float64, error) {
	resp, err := http.Get(admin + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = n
		}
	}
	return all, nil
}

// A soakClient calls as one person, and writes down what it was told.
type soakClient struct {
	s      *soak
	kind   string
	name   string
	from   string
	token  string
	sdk    *mobileclient.Client
	plain  *http.Client
	events []event
	tasks  map[string]state // by title
	ids    map[string]string
}

// An event is one call: what came of it, and when it was under way.
type event struct {
	outcome  string
	from, to time.Time
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
		s: s, kind: kind, name: fmt.Sprint("client-", i), from: fmt.Sprintf("10.9.%d.%d", i/200, i%200+1), tasks: map[string]state{}, ids: map[string]string{},
		token: s.issuer.Token(fmt.Sprint("client-", i), fmt.Sprint("org-", i)),
	}
	if kind == "spray" {
		c.from, c.token = fmt.Sprintf("192.0.2.%d", i%5), "not.a.token"
	}
	c.plain = &http.Client{Transport: servertest.From(c.from), Timeout: time.Minute}
	var err error
	c.sdk, err = mobileclient.New(s.balancer.URL, mobileclient.WithTokenSource(mobileclient.StaticToken(c.token)), mobileclient.WithHTTPClient(c.plain))
	if err != nil {
		s.t.Fatal(err)
	}
	s.clients = append(s.clients, c)
	return c
}

// run calls about twice in three seconds, well within each budget.
func (c *soakClient) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		began := time.Now()
		outcome := c.call(n)
		c.events = append(c.events, event{outcome, began, time.Now()})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second + rand.N(time.Second)):
		}
	}
}

// call does one thing and says what came of it: a status, or "no answer".
func (c *soakClient) call(n int) string {
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
	outcome := c.send(http.MethodPost, "/api/v1/tasks", `{"title":"`+title+`"}`, title)
	c.tasks[title] = concluded(outcome, "201", there)
	return outcome
}

func (c *soakClient) createBySDK(title string) string {
	task, err := c.sdk.CreateTask(context.Background(), api.TaskCreate{Title: title})
	c.tasks[title] = uncertain
	if err == nil {
		c.tasks[title], c.ids[title] = there, task.ID
		return "201"
	}
	var refusal *mobileclient.Error
	if !errors.As(err, &refusal) || refusal.Status == 0 {
		return "no answer"
	}
	if refusal.Local {
		c.tasks[title] = refused
		return "local 429"
	}
	c.tasks[title] = concluded(strconv.Itoa(refusal.Status), "201", there)
	return strconv.Itoa(refusal.Status)
}

// remove deletes a task whose id is known.
func (c *soakClient) remove(title string) string {
	id := c.ids[title]
	if id == "" {
		return c.send(http.MethodGet, "/api/v1/org", "", "")
	}
	outcome := c.send(http.MethodDelete, "/api/v1/tasks/"+id, "", "")
	if was := concluded(outcome, "204", deleted); was != refused {
		c.tasks[title] = was
	}
	return outcome
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

func (c *soakClient) send(method, path, body, key string) string {
	r, err := http.NewRequestWithContext(context.Background(), method, c.s.balancer.URL+path, strings.NewReader(body))
	if err != nil {
		c.s.t.Error(err)
		return "no request"
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if key != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.plain.Do(r)
	if err != nil {
		return "no answer"
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "no answer"
	}
	return strconv.Itoa(resp.StatusCode)
}

// report prints what happened as tables, and fails for each answer that should not have been.
func (s *soak) report(t *testing.T) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer out.Flush()
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
				if !s.expected(kind, e) {
					wrong[e.outcome]++
					t.Errorf("%s (%s): %s at %v", c.name, kind, e.outcome, e.from.Sub(s.began).Round(time.Second))
				}
			}
		}
		for _, outcome := range slices.Sorted(maps.Keys(calls)) {
			fmt.Fprintf(out, "%d\t%s\t%s\t%d\t%d\n", n, kind, outcome, calls[outcome], wrong[outcome])
		}
	}
	fmt.Fprintf(out, "\nBROKEN ON PURPOSE\tFROM\tTO\n")
	for _, w := range s.windows {
		fmt.Fprintf(out, "%s\t%v\t%v\n", w.what, w.from.Sub(s.began).Round(time.Second), w.to.Sub(s.began).Round(time.Second))
	}
	s.causes(out)
	s.reconcile(t, out)
	s.measureLast(t, out)
}

// expected says whether an outcome may be: success always; 401 and 429 for a spray alone; 503 while PostgreSQL is restarted; no
// answer, or the balancer's 502, for what was under way in the server that was killed.
func (s *soak) expected(kind string, e event) bool {
	within := func(what string) bool {
		return slices.ContainsFunc(s.windows, func(w window) bool {
			return strings.HasPrefix(w.what, what) && e.to.After(w.from) && e.from.Before(w.to.Add(aftermath))
		})
	}
	switch e.outcome {
	case "200", "201", "204":
		return kind != "spray"
	case "401", "429":
		return kind == "spray"
	case "404":
		return within("PostgreSQL") // What was deleted by a call that had no answer.
	case "503":
		return within("PostgreSQL")
	case "409":
		return within("PostgreSQL") || within("a server is killed")
	case "502", "no answer":
		return within("a server is killed")
	}
	return false
}

// causes counts what the servers logged as the causes of 5xx.
func (s *soak) causes(out io.Writer) {
	counts := map[string]int{}
	for _, one := range s.servers {
		text, err := os.ReadFile(one.log)
		if err != nil {
			continue // The report says less.
		}
		for line := range strings.Lines(string(text)) {
			var record struct {
				Level string `json:"level"`
				Cause string `json:"cause"`
			}
			if json.Unmarshal([]byte(line), &record) == nil && record.Level == "ERROR" {
				counts[record.Cause]++
			}
		}
	}
	fmt.Fprintf(out, "\nTIMES\tCAUSE OF A 5xx\n")
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(out, "%d\t%.120s\n", counts[cause], cause)
	}
}

// reconcile compares what clients were told with what is in the database.
func (s *soak) reconcile(t *testing.T, out io.Writer) {
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

// measureLast compares what the servers that are left use with what they used at first.
func (s *soak) measureLast(t *testing.T, out io.Writer) {
	time.Sleep(2 * time.Second) // Calls under way end.
	fmt.Fprintf(out, "\nSERVER\tGOROUTINES AT FIRST\tAT LAST\tRESIDENT MIB AT FIRST\tAT LAST\n")
	for _, one := range s.servers[len(s.servers)-2:] {
		last, err := gauges(one.admin)
		if err != nil || one.first == nil {
			t.Errorf("%s cannot be measured: %v", one.url, err)
			continue
		}
		const goroutines, resident = "go_goroutines", "process_resident_memory_bytes"
		fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.0f\n", one.url, one.first[goroutines], last[goroutines], one.first[resident]/(1<<20), last[resident]/(1<<20))
		if last[goroutines] > one.first[goroutines]+100 || last[resident] > 1.5*one.first[resident]+(32<<20) {
			t.Errorf("%s grows", one.url)
		}
	}
}
