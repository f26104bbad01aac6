package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/ratelimit/redis/redistest"
	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// people is how many share the load of BenchmarkServer, so that nobody meets a budget in 2 000 requests of each kind.
const people = 200

// BenchmarkServer sends requests of several kinds to one server with a database and a Redis, each a process of its own, and
// reports how much processor time each of the three took for one: what else the machine does meanwhile hardly shows.
func BenchmarkServer(b *testing.B) {
	s := startBenchServer(b)
	for _, kind := range []struct {
		name, method, path, body string
		from                     func(i int) (token, address string)
		want                     int
	}{
		{"refused at the edge", http.MethodGet, "/api/v1/me", "", stranger, http.StatusTooManyRequests},
		{"who am I", http.MethodGet, "/api/v1/me", "", s.person, http.StatusOK},
		// example:begin
		{"list tasks", http.MethodGet, "/api/v1/tasks", "", s.person, http.StatusOK},
		{"write a task", http.MethodPost, "/api/v1/tasks", `{"title":"Buy milk"}`, s.person, http.StatusCreated},
		// example:end
	} {
		b.Run(kind.name, func(b *testing.B) {
			call := func(i int) int {
				token, address := kind.from(i)
				return s.call(b, kind.method, kind.path, kind.body, token, address)
			}
			for i := range people { // Everybody becomes known, and who is to be refused is.
				call(i)
			}
			before := s.used(b)
			var next atomic.Int64
			var callers sync.WaitGroup
			for range 8 {
				callers.Go(func() {
					for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
						if got := call(i); got != kind.want {
							b.Errorf("request %d is answered %d, want %d: more than -benchtime 2000x spends the budgets", i, got, kind.want)
						}
					}
				})
			}
			callers.Wait()
			after := s.used(b)
			for i, of := range []string{"server", "redis", "postgresql"} {
				b.ReportMetric(float64((after[i]-before[i]).Microseconds())/float64(b.N), of+"-µs/op")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// stranger spends what one address has.
func stranger(int) (token, address string) { return "not.a.token", "192.0.2.1" }

// A benchServer is a server in a process of its own, with what it stands on.
type benchServer struct {
	url     string
	pid     int
	issuer  *servertest.Issuer
	redis   *redistest.Server
	conn    *pgx.Conn
	client  *http.Client   // keeps its connections, as a proxy does
	persons [people]string // their tokens
}

func (s *benchServer) person(i int) (token, address string) {
	return s.persons[i%people], fmt.Sprint("198.51.100.", i%people)
}

func startBenchServer(tb testing.TB) *benchServer {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/server").CombinedOutput(); err != nil {
		tb.Fatalf("build the server: %v\n%s", err, out)
	}
	address := freeAddress(tb)
	issuer, database := servertest.StartIssuer(tb), storetest.URL(tb)
	s := &benchServer{
		url: "http://" + address, issuer: issuer, redis: redistest.Start(tb),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute},
	}
	tb.Cleanup(s.client.CloseIdleConnections)
	cmd := exec.Command(program, "serve")
	cmd.Env = append(os.Environ(), "APP_ENV=development", "HTTP_ADDR="+address, "ADMIN_ADDR=127.0.0.1:0", "LOG_FORMAT=json", "TRUSTED_PROXIES=127.0.0.1",
		"PUBLIC_URL="+s.url, "DATABASE_URL="+database, "REDIS_URL="+s.redis.URL+"?read_timeout=2s")
	for name, value := range issuer.Env() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.pid = cmd.Process.Pid
	for deadline := time.Now().Add(time.Minute); !isReady(tb.Context(), s.url); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatal("the server is not ready")
		}
	}
	for i := range s.persons {
		s.persons[i] = issuer.Token(fmt.Sprint("person-", i), fmt.Sprint("org-", i/4))
	}
	var err error
	if s.conn, err = pgx.Connect(tb.Context(), database); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.conn.Close(context.Background()) })
	return s
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// call returns the status, or 0 where there was no answer.
func (s *benchServer) call(tb testing.TB, method, path, body, token, address string) int {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		tb.Error(err)
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Forwarded-For", address)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		tb.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		tb.Error(err)
	}
	return resp.StatusCode
}

// used is the processor time that the server, Redis and the database's connections have taken so far.
func (s *benchServer) used(b *testing.B) [3]time.Duration {
	b.Helper()
	info, err := s.redis.Client(b).InfoMap(b.Context(), "server").Result()
	if err != nil {
		b.Fatal(err)
	}
	redisPID, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		b.Fatal(err)
	}
	rows, err := s.conn.Query(b.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err != nil {
		b.Fatal(err)
	}
	backends, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	var database time.Duration
	for _, pid := range backends {
		database += processorTime(b, pid)
	}
	return [3]time.Duration{processorTime(b, s.pid), processorTime(b, redisPID), database}
}

// processorTime is what the kernel says a process has taken, to the hundredth of a second.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skipf("processor time is read from /proc: %v", err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] { // utime and stime, which follow the name as the 12th and 13th
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

func isReady(ctx context.Context, base string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
