package allowance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/internal/allowance"
	"example.com/gatehouse/internal/ratelimit"
	"example.com/gatehouse/internal/store"
)

// A database is rows by scope and subject, and what was asked of it.
type database struct {
	mu    sync.Mutex
	rows  map[string][]store.Allowance
	asked map[string]int
	err   error
	// gate, if not nil, holds every read back until it is closed.
	gate chan struct{}
}

func newDatabase() *database {
	return &database{rows: map[string][]store.Allowance{}, asked: map[string]int{}}
}

func (d *database) load(ctx context.Context, scope, subject string) ([]store.Allowance, error) {
	d.mu.Lock()
	key := scope + "/" + subject
	d.asked[key]++
	rows, err, gate := d.rows[key], d.err, d.gate
	d.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return rows, err
}

func (d *database) set(key string, rows ...store.Allowance) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rows[key] = rows
}

func (d *database) hold(gate chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = gate
}

func (d *database) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *database) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, asked := range d.asked {
		n += asked
	}
	return n
}

func (d *database) book(change ...func(*allowance.Config)) *allowance.Book {
	cfg := allowance.Config{Load: d.load}
	for _, c := range change {
		c(&cfg)
	}
	return allowance.New(cfg)
}

func limitOf(n int64) store.Allowance { return store.Allowance{Budget: "user", Limit: n} }

func user() *ratelimit.Budget {
	limit := ratelimit.Limit{Algorithm: ratelimit.SlidingLog, N: 100, Window: time.Minute}
	return &ratelimit.Budget{Name: "user", Limit: limit, Enforce: true}
}

func org() *ratelimit.Budget {
	return &ratelimit.Budget{Name: "org", Limit: ratelimit.Limit{Algorithm: ratelimit.TokenBucket, N: 600, Refill: 10}, Enforce: true}
}

func alice() ratelimit.Subject {
	return ratelimit.Subject{User: "alice", Organisation: "acme", Plan: "team"}
}

// User beats organisation beats plan beats file beats table.
func TestOrder(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	b := d.book()
	file := user()
	file.Limit.N, file.Source = 150, "file"
	steps := []struct {
		set    string
		limit  int64
		source string
	}{{"", 150, "file"}, {"plan/team", 300, "plan"}, {"organisation/acme", 50, "organisation"}, {"user/alice", 70, "user"}}
	for _, step := range steps {
		if step.set != "" {
			d.set(step.set, limitOf(step.limit))
			b.ForgetAll()
		}
		if got := b.Resolve(t.Context(), file, alice()); got.Limit.N != step.limit || got.Source != step.source || !got.Enforce {
			t.Errorf("with %s: %+v", step.set, got)
		}
	}
	if got := b.Resolve(t.Context(), user(), ratelimit.Subject{User: "bob", Organisation: "globex", Plan: "free"}); got.Limit.N != 100 || got.Source != "table" {
		t.Errorf("another's are %+v", got)
	}
}

// A row that makes no limit of the budget is passed over: the weaker source decides. That is told of once for each.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	var told []string
	b := d.book(func(c *allowance.Config) {
		c.PassedOver = func(scope, subject, budget string, err error) {
			told = append(told, fmt.Sprint(scope, "/", subject, "/", budget, ": ", err))
		}
	})
	d.set("plan/team", limitOf(2000))
	d.set("user/bob", limitOf(3000))
	for range 3 {
		for _, s := range []ratelimit.Subject{alice(), {User: "bob"}} {
			if got := b.Resolve(t.Context(), user(), s); got.Limit.N != 100 || got.Source != "table" {
				t.Errorf("a limit that no log holds gives %+v", got)
			}
		}
		b.ForgetAll()
	}
	if len(told) != 2 || !strings.HasPrefix(told[0], "plan/team/user: limit 2000 is above 1024") || !strings.HasPrefix(told[1], "user/bob/user: limit 3000") {
		t.Errorf("told of %q", told)
	}
}

// What a row leaves out stays as the weaker rows have it. A plan's own number stands before an override of the plan.
func TestWhatARowLeavesOut(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	d.set("plan/team",
		store.Allowance{Budget: "org", Limit: 3000, Refill: new(int64(50))},
		store.Allowance{Budget: "org", Limit: 4000, Enforce: new(false)})
	d.set("organisation/acme", store.Allowance{Budget: "org", Limit: 5000})
	got := d.book().Resolve(t.Context(), org(), alice())
	if got.Limit.N != 5000 || got.Limit.Refill != 50 || got.Enforce || got.Source != "organisation" {
		t.Errorf("got %+v", got)
	}
}

func TestUnlimited(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	d.set("organisation/acme", store.Allowance{Budget: "user", Unlimited: true})
	b := d.book()
	if got := b.Resolve(t.Context(), user(), alice()); !got.Unlimited || got.Limit.Check() != nil {
		t.Errorf("got %+v", got)
	}
	d.set("user/alice", limitOf(7))
	b.Forget("user", "alice")
	if got := b.Resolve(t.Context(), user(), alice()); got.Unlimited || got.Limit.N != 7 {
		t.Errorf("a limit does not end it: %+v", got)
	}
}

// Rows that would make no valid limit of what they are combined with are passed over: a decision must not fail for them.
func TestInvalidCombinations(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	d.set("plan/team", limitOf(2000), store.Allowance{Budget: "org", Limit: 1 << 40})
	d.set("organisation/acme", store.Allowance{Budget: "user", Limit: 5, Refill: new(int64(3))})
	b := d.book()
	if got := b.Resolve(t.Context(), user(), alice()); got.Limit.N != 5 || got.Limit.Check() != nil {
		t.Errorf("got %+v", got)
	}
	if got := b.Resolve(t.Context(), org(), alice()); got.Limit.N != 600 || got.Source != "table" {
		t.Errorf("a bucket that takes years to fill: %+v", got)
	}
}

// Nobody known, as at the edge, costs no look-up.
func TestNobody(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	if got := d.book().Resolve(t.Context(), user(), ratelimit.Subject{}); got.Limit.N != 100 || d.total() != 0 {
		t.Errorf("%d look-ups for %+v", d.total(), got)
	}
}

// Each of user, organisation and plan is read once in 30 seconds, however many requests and budgets there are.
func TestHeldForThirtySeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		b := d.book()
		resolve := func() int64 {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() { b.Resolve(t.Context(), user(), alice()); b.Resolve(t.Context(), org(), alice()) })
			}
			all.Wait()
			return b.Resolve(t.Context(), user(), alice()).Limit.N
		}
		resolve()
		d.set("user/alice", limitOf(9))
		time.Sleep(30*time.Second - 1)
		if n := resolve(); n != 100 || d.total() != 3 {
			t.Errorf("just before 30 s the limit is %d after %d look-ups", n, d.total())
		}
		time.Sleep(time.Nanosecond)
		if n := resolve(); n != 9 || d.total() != 6 {
			t.Errorf("after 30 s the limit is %d after %d look-ups", n, d.total())
		}
	})
}

// Of many who ask at once one reads, and all of them get what it read.
func TestOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.set("user/alice", limitOf(9))
		d.gate = make(chan struct{})
		b := d.book()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if n := b.Resolve(t.Context(), user(), ratelimit.Subject{User: "alice"}).Limit.N; n != 9 {
					t.Errorf("the limit is %d", n)
				}
			})
		}
		synctest.Wait()
		close(d.gate)
		all.Wait()
		if d.total() != 1 {
			t.Errorf("%d look-ups", d.total())
		}
	})
}

// An override ends when it is to, although nobody says so.
func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		a := limitOf(9)
		a.ExpiresIn = new(10 * time.Second)
		d.set("user/alice", a)
		b := d.book()
		b.Resolve(t.Context(), user(), alice())
		time.Sleep(10*time.Second - 1)
		if got := b.Resolve(t.Context(), user(), alice()); got.Limit.N != 9 {
			t.Errorf("just before its end %+v", got)
		}
		time.Sleep(time.Nanosecond)
		if got := b.Resolve(t.Context(), user(), alice()); got.Limit.N != 100 || got.Source != "table" {
			t.Errorf("at its end %+v", got)
		}
	})
}

// What a read began with before a change was told of is not held: it may be from before the change.
func TestChangeDuringARead(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*allowance.Book){
		"of the subject": func(b *allowance.Book) { b.Forget("user", "alice") },
		"of anything":    func(b *allowance.Book) { b.ForgetAll() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDatabase()
				d.gate = make(chan struct{})
				b := d.book()
				go b.Resolve(t.Context(), user(), ratelimit.Subject{User: "alice"})
				synctest.Wait() // It has read, and its answer is on its way.
				d.set("user/alice", limitOf(9))
				tell(b)
				close(d.gate)
				synctest.Wait()
				if got := b.Resolve(t.Context(), user(), ratelimit.Subject{User: "alice"}); got.Limit.N != 9 {
					t.Errorf("what was read before the change is held: %+v", got)
				}
			})
		})
	}
}

// Who comes after a change was told of does not wait for a read that was under way before it, and what that finds does not
// displace what is read since.
func TestReadAfterAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		before, after := make(chan struct{}), make(chan struct{})
		d.gate = before
		b := d.book()
		bob := ratelimit.Subject{User: "bob"}
		go b.Resolve(t.Context(), user(), bob)
		synctest.Wait() // It has read, and its answer is on its way.
		d.set("user/bob", limitOf(9))
		d.hold(after)
		b.Forget("user", "bob")
		late := make(chan ratelimit.Setting, 1)
		go func() { late <- b.Resolve(t.Context(), user(), bob) }()
		synctest.Wait()
		close(after)
		if got := <-late; got.Limit.N != 9 {
			t.Errorf("after the change %+v", got)
		}
		close(before)
		synctest.Wait()
		asked := d.total()
		if got := b.Resolve(t.Context(), user(), bob); got.Limit.N != 9 || d.total() != asked {
			t.Errorf("after the read from before the change has landed: %+v, with %d more reads", got, d.total()-asked)
		}
	})
}

// While the database does not answer the last known applies, it is asked again each second and not more often, and that
// is said once.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.set("user/alice", limitOf(9))
		said := 0
		b := d.book(func(c *allowance.Config) { c.Failed = func(error) { said++ } })
		of := func(user2 string) int64 {
			return b.Resolve(t.Context(), user(), ratelimit.Subject{User: user2}).Limit.N
		}
		of("alice")
		d.fail(errors.New("down"))
		b.ForgetAll()
		b.Forget("user", "alice")
		before := d.total()
		for range 100 {
			if n := of("alice"); n != 9 {
				t.Fatalf("in the outage the limit is %d", n)
			}
		}
		if asked := d.total() - before; asked != 1 {
			t.Errorf("it was asked %d times at once", asked)
		}
		time.Sleep(time.Second)
		if n := of("bob"); n != 100 {
			t.Errorf("somebody of whom nothing is known has %d", n)
		}
		of("alice")
		if said != 1 {
			t.Errorf("the outage was said %d times", said)
		}
		d.fail(nil)
		d.set("user/alice", limitOf(11))
		time.Sleep(time.Second)
		if n := of("alice"); n != 11 {
			t.Errorf("after the outage the limit is %d", n)
		}
		d.fail(errors.New("down again"))
		b.ForgetAll()
		of("alice")
		if said != 2 {
			t.Errorf("the second outage was not said: %d", said)
		}
	})
}

// A read that hangs holds nobody for longer than its time limit, and one who hangs up not even as long.
func TestHangingRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.gate = make(chan struct{})
		b := d.book()
		began := time.Now()
		go b.Resolve(t.Context(), user(), ratelimit.Subject{User: "alice"})
		synctest.Wait()
		ctx, hangUp := context.WithCancel(t.Context())
		hangUp()
		if n := b.Resolve(ctx, user(), ratelimit.Subject{User: "alice"}).Limit.N; n != 100 || time.Since(began) != 0 {
			t.Errorf("who hung up was held for %v and has %d", time.Since(began), n)
		}
		b.Resolve(t.Context(), user(), ratelimit.Subject{User: "alice"})
		if took := time.Since(began); took != time.Second {
			t.Errorf("held for %v", took)
		}
	})
}

// The number of subjects held is bounded; those in use stay.
func TestBounded(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	b := d.book(func(c *allowance.Config) { c.Subjects = 100 })
	for i := range 5000 {
		b.Resolve(t.Context(), user(), ratelimit.Subject{User: fmt.Sprint(i)})
		b.Resolve(t.Context(), user(), ratelimit.Subject{Plan: "team"})
	}
	if n := b.Len(); n > 100 {
		t.Errorf("%d subjects are held", n)
	}
	d.mu.Lock()
	asked := maps.Clone(d.asked)
	d.mu.Unlock()
	if asked["plan/team"] != 1 {
		t.Errorf("the plan in use was read %d times", asked["plan/team"])
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	d.set("plan/team", limitOf(300))
	b := d.book(func(c *allowance.Config) { c.Subjects = 20 })
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 500 {
				got := b.Resolve(t.Context(), user(), ratelimit.Subject{User: fmt.Sprint(i % 30), Plan: "team"})
				if got.Limit.N != 300 {
					t.Errorf("the limit is %d", got.Limit.N)
				}
				if i%50 == worker {
					b.Forget("plan", "team")
				}
			}
		})
	}
	all.Wait()
}
