package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

// patience is only reached where something hangs.
const patience = time.Minute

// A follower collects what a store's feed tells.
type follower struct {
	told    chan store.Change
	refuse  chan error // An error that the next call of apply answers.
	faults  chan error
	t       *testing.T
	stopped func()
}

// follow follows the feed until the test ends, and waits for its beginning.
func follow(t *testing.T, s *store.Store) *follower {
	t.Helper()
	f := &follower{told: make(chan store.Change, 10_000), refuse: make(chan error, 1), faults: make(chan error, 100), t: t}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Follow(ctx, f.apply, func(err error) { f.faults <- err }) })
	f.stopped = func() { cancel(); running.Wait() }
	t.Cleanup(f.stopped)
	f.want(store.ChangedAnything)
	return f
}

func (f *follower) apply(_ context.Context, changes []store.Change) error {
	select {
	case err := <-f.refuse:
		return err
	default:
	}
	for _, c := range changes {
		f.told <- c
	}
	return nil
}

// next is the next change, as "kind subject".
func (f *follower) next() string {
	f.t.Helper()
	select {
	case c := <-f.told:
		return strings.TrimSpace(c.Kind + " " + c.Subject)
	case <-time.After(patience):
		f.t.Fatal("nothing more is told")
		return ""
	}
}

func (f *follower) want(changes ...string) {
	f.t.Helper()
	for _, want := range changes {
		if got := f.next(); got != want {
			f.t.Fatalf("told of %q, want %q", got, want)
		}
	}
}

// change writes a change in a transaction that is still to be ended.
func change(t *testing.T, url, subject string) pgx.Tx {
	t.Helper()
	tx := must(connect(t, url).Begin(t.Context()))(t)
	if _, err := tx.Exec(t.Context(), "INSERT INTO changes (kind, subject) VALUES ('test', $1)", subject); err != nil {
		t.Fatal(err)
	}
	return tx
}

func commit(t *testing.T, txs ...pgx.Tx) {
	t.Helper()
	for _, tx := range txs {
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A reader that remembered the highest id would miss the change that was written first and committed last.
func TestFollowInAnyOrderOfCommits(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	f := follow(t, storetest.Open(t, store.Config{URL: url}))
	first, second, third := change(t, url, "1"), change(t, url, "2"), change(t, url, "3")
	commit(t, third)
	f.want("test 3")
	if err := second.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, change(t, url, "4"))
	f.want("test 4")
	commit(t, first)
	f.want("test 1")
	commit(t, change(t, url, "5"))
	f.want("test 5")
}

// Every change is told once, whatever many writers do at once.
func TestFollowManyWriters(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 50
	url := storetest.URL(t)
	f := follow(t, storetest.Open(t, store.Config{URL: url}))
	var want []string
	for i := range writers * each {
		want = append(want, fmt.Sprintf("test %d", i))
	}
	_, errs := together(writers, func(i int) (any, error) {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return nil, err
		}
		defer conn.Close(context.Background())
		for n := range each {
			// Each transaction holds its number for a while, so that they end in another order than they began.
			_, err := conn.Exec(t.Context(), `WITH c AS (INSERT INTO changes (kind, subject) VALUES ('test', $1) RETURNING 1)
				SELECT pg_sleep(random() * 0.005) FROM c`, fmt.Sprint(i*each+n))
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range want {
		got = append(got, f.next())
	}
	commit(t, change(t, url, "last"))
	f.want("test last")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("told of %d changes: %q", len(got), got)
	}
}

// A lost connection may have hidden something, and the database behind the next one may be another.
func TestFollowBeginsAnewAfterALostConnection(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	f := follow(t, s)
	ended := scalar[int](t, url, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if ended == 0 {
		t.Fatal("there was no connection to end")
	}
	f.want(store.ChangedAnything)
	if err := <-f.faults; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the interruption was %v, want ErrUnavailable", err)
	}
	commit(t, change(t, url, "after"))
	f.want("test after")
}

// What could not be taken in is told again.
func TestFollowTellsAgain(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	f := follow(t, s)
	refused := errors.New("cannot take it in")
	f.refuse <- refused
	commit(t, change(t, url, "1"))
	f.want(store.ChangedAnything)
	if err := <-f.faults; !errors.Is(err, refused) {
		t.Errorf("the interruption was %v, want %v", err, refused)
	}
	if !s.UpToDate(t.Context(), patience) {
		t.Error("not up to date though all is told")
	}
}

// Who is told of the beginning may ask at once: the look that tells is not over yet, and is waited for.
func TestUpToDateFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	told, asked := make(chan struct{}), make(chan bool)
	apply := func(context.Context, []store.Change) error {
		close(told)
		early, stop := context.WithTimeout(ctx, time.Millisecond) // It is asked within the look, which cannot end meanwhile.
		defer stop()
		if s.UpToDate(early, patience) {
			t.Error("up to date before the first look has ended")
		}
		if early.Err() == nil {
			t.Error("nobody waited for the first look")
		}
		return nil
	}
	var following sync.WaitGroup
	following.Go(func() { s.Follow(ctx, apply, func(err error) { t.Error(err) }) })
	go func() { <-told; asked <- s.UpToDate(ctx, patience) }()
	if !<-asked {
		t.Error("not up to date though told of the beginning")
	}
	cancel()
	following.Wait()
}

func TestUpToDate(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	if s.UpToDate(t.Context(), patience) {
		t.Error("up to date though nobody follows")
	}
	f := follow(t, s)
	for _, within := range []time.Duration{patience, 0} { // The second waits for the next look.
		if !s.UpToDate(t.Context(), within) {
			t.Errorf("not up to date within %v while following", within)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s.UpToDate(ctx, 0) {
		t.Error("up to date at once, before the next look")
	}
	f.stopped()
	if s.UpToDate(t.Context(), patience) {
		t.Error("up to date after the feed has ended")
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url, KeepAudit: 60 * 24 * time.Hour})
	member := ensure(t, s, alice())
	conn := connect(t, url)
	for _, sql := range []string{
		"INSERT INTO changes (kind, subject, at) VALUES ('test', 'old', now() - interval '61 minutes'), ('test', 'new', now())",
		"INSERT INTO revocations (kind, key, expires_at) VALUES ('token', 'old', now()), ('token', 'new', now() + interval '1 hour')",
		"INSERT INTO logout_tokens (key, expires_at) VALUES ('old', now()), ('new', now() + interval '1 hour')",
		"INSERT INTO logins (state_hash, verifier, nonce, return_to, charge, expires_at) VALUES ('old', '', '', '/', '', now()), ('new', '', '', '/', '', now() + interval '1 minute')",
		"INSERT INTO forgotten_people (identity, user_id, organisation_id, forgotten_at) SELECT sha256(name::bytea), gen_random_uuid() AS person, gen_random_uuid() AS organisation, now() - age " +
			"FROM (VALUES ('old', interval '26 hours'), ('new', interval '24 hours')) v (name, age)",
		"INSERT INTO audit (id, at, actor, action, target, reason, request_id) SELECT gen_random_uuid(), now() - age, gen_random_uuid(), name, '', '', '' " +
			"FROM (VALUES ('old', interval '61 days'), ('new', interval '59 days')) v (name, age)",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	must(s.CreateSession(t.Context(), newSession(member, "token")))(t)
	if _, err := conn.Exec(t.Context(), "UPDATE sessions SET expires_at = now()"); err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	const left = `SELECT concat_ws(' ', (SELECT string_agg(subject, ' ') FROM changes), (SELECT string_agg(encode(key, 'escape'), ' ') FROM revocations),
		(SELECT string_agg(encode(key, 'escape'), ' ') FROM logout_tokens), (SELECT string_agg(encode(state_hash, 'escape'), ' ') FROM logins),
		(SELECT string_agg('new', ' ') FROM forgotten_people WHERE identity = sha256('new')), (SELECT count(*) FROM forgotten_people),
		(SELECT string_agg(action, ' ') FROM audit), (SELECT count(*) FROM sessions))`
	if got, want := scalar[string](t, url, left), strings.Repeat("new ", 5)+"1 new 0"; got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// Pruning takes a bounded batch of each table, so that no statement is long, however much there is.
func TestPruneIsBounded(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url, KeepAudit: time.Hour})
	member := ensure(t, s, alice())
	conn := connect(t, url)
	const largest = 1000
	old := map[string]string{
		"changes":          "(kind, subject, at) SELECT 'test', '', now() - interval '1 day'",
		"revocations":      "(kind, key, expires_at) SELECT 'token', i::text::bytea, now()",
		"logout_tokens":    "(key, expires_at) SELECT i::text::bytea, now()",
		"logins":           "(state_hash, verifier, nonce, return_to, charge, expires_at) SELECT i::text::bytea, '', '', '/', '', now()",
		"sessions":         "(id, user_id, token_hash, roles, roles_at, sid, id_token, expires_at) SELECT gen_random_uuid(), '" + member.UserID.String() + "', sha256(i::text::bytea), '{}', now(), '', '', now()",
		"forgotten_people": "(identity, user_id, organisation_id, forgotten_at) SELECT sha256(i::text::bytea), md5(i::text)::uuid, gen_random_uuid(), now() - interval '2 days'",
		"audit":            "(id, at, actor, action, target, reason, request_id) SELECT gen_random_uuid(), now() - interval '1 day', gen_random_uuid(), '', '', '', ''",
	}
	for table, rows := range old {
		if _, err := conn.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s %s FROM generate_series(0, %d) i", table, rows, largest)); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	if err := s.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	for table := range old {
		if n := scalar[int](t, url, "SELECT count(*) FROM "+table); n == 0 || n > largest {
			t.Errorf("of %d old rows of %s %d are left after one round, want some, and not all", largest+1, table, n)
		}
	}
}

// One table that cannot be pruned holds up no other.
func TestPruneGoesOn(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url, KeepAudit: time.Hour})
	conn := connect(t, url)
	for _, sql := range []string{
		"ALTER TABLE changes RENAME TO gone",
		"INSERT INTO audit (id, at, actor, action, target, reason, request_id) VALUES (gen_random_uuid(), now() - interval '2 hours', gen_random_uuid(), '', '', '', '')",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Prune(t.Context()); err == nil || !strings.Contains(err.Error(), "prune changes") {
		t.Errorf("pruned without the table of changes: %v", err)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM audit"); n != 0 {
		t.Errorf("%d entries of the audit are left", n)
	}
}

// A notification tells of a change: who follows need not wait for the next look, which is an hour away here.
func TestNotificationTells(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	writer := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, writer, alice())
	f := follow(t, storetest.Open(t, store.Config{URL: url, PollEvery: time.Hour}))
	for range 3 {
		if err := writer.RevokeUser(t.Context(), member.UserID); err != nil {
			t.Fatal(err)
		}
		if kind, _, _ := strings.Cut(f.next(), " "); kind != store.ChangedRevocations {
			t.Errorf("told of %s", kind)
		}
	}
}

// A look tells of a change that no notification came for, and two looks fit into the second that is promised.
func TestLookTells(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	f := follow(t, s)
	commit(t, change(t, url, "unannounced"))
	f.want("test unannounced")
	if poll := s.PollEvery(); poll <= 0 || 2*poll > time.Second {
		t.Errorf("changes are looked for each %v", poll)
	}
}

// Where nothing says how long, the audit is kept for ever.
func TestAuditIsKept(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	const old = `INSERT INTO audit (id, at, actor, action, target, reason, request_id)
		VALUES (gen_random_uuid(), now() - interval '50 years', gen_random_uuid(), '', '', '', '')`
	if _, err := connect(t, url).Exec(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Open(t, store.Config{URL: url}).Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := scalar[int](t, url, "SELECT count(*) FROM audit"); n != 1 {
		t.Errorf("%d entries are left", n)
	}
}

// Every process hears of a revocation, and one that starts later reads it.
func TestRevokeUser(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	must(s.CreateSession(t.Context(), newSession(member, "token")))(t)
	f := follow(t, s)
	if err := s.RevokeUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	_, err := s.Session(t.Context(), []byte("token"), time.Hour)
	wantErr(t, err, store.ErrNotFound)
	kind, subject, _ := strings.Cut(f.next(), " ")
	told := must(store.ReadRevocation(subject))(t)
	if kind != store.ChangedRevocations || told.Kind != store.RevokedUser || told.Key != store.KeyOf(issuer, "alice") || told.UserID != member.UserID {
		t.Errorf("told of %s %+v", kind, told)
	}
	if life := told.ExpiresAt.Sub(told.At); life < store.TokenLife {
		t.Errorf("it is kept for %v, shorter than a token's life", life)
	}
	if kept := must(s.Revocations(t.Context()))(t); len(kept) != 1 || kept[0] != told {
		t.Errorf("kept are %+v, want %+v", kept, told)
	}
	wantErr(t, s.RevokeUser(t.Context(), uuid.New()), store.ErrNotFound)
}

func TestReadRevocationOfNonsense(t *testing.T) {
	t.Parallel()
	if _, err := store.ReadRevocation("nonsense"); err == nil {
		t.Error("nonsense was read")
	}
}

// Revoking again refuses what was issued meanwhile.
func TestRevokeAgain(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	revoke := func() {
		t.Helper()
		if err := s.RevokeUser(t.Context(), member.UserID); err != nil {
			t.Fatal(err)
		}
	}
	revoke()
	if _, err := connect(t, url).Exec(t.Context(), "UPDATE revocations SET at = at - interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	revoke()
	if kept := must(s.Revocations(t.Context()))(t); len(kept) != 1 || time.Since(kept[0].At) > 30*time.Minute {
		t.Errorf("kept are %+v, want the later one", kept)
	}
}

func TestRevokeToken(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	if err := s.RevokeToken(t.Context(), issuer, "jti", member.UserID); err != nil {
		t.Fatal(err)
	}
	kept := must(s.Revocations(t.Context()))(t)
	if len(kept) != 1 || kept[0].Kind != store.RevokedToken || kept[0].Key != store.KeyOf(issuer, "jti") {
		t.Errorf("kept are %+v", kept)
	}
}

func TestEndSessions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		logout store.Logout
		left   []string // The sessions that go on.
		kind   store.RevocationKind
		id     string
	}{
		"of a session":            {store.Logout{SID: "phone"}, []string{"alice laptop", "bob laptop"}, store.RevokedSession, "phone"},
		"of a user's session":     {store.Logout{SID: "phone", Subject: "alice"}, []string{"alice laptop", "bob laptop"}, store.RevokedSession, "phone"},
		"of another's session":    {store.Logout{SID: "phone", Subject: "bob"}, []string{"alice laptop", "alice phone", "bob laptop"}, store.RevokedSession, "phone"},
		"of a user":               {store.Logout{Subject: "alice"}, []string{"bob laptop"}, store.RevokedUser, "alice"},
		"of one who is not known": {store.Logout{Subject: "carol"}, []string{"alice laptop", "alice phone", "bob laptop"}, store.RevokedUser, "carol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			people := map[string]store.Member{"alice": ensure(t, s, alice()), "bob": ensure(t, s, store.Identity{Issuer: issuer, Subject: "bob", Personal: true})}
			sessions := []string{"alice laptop", "alice phone", "bob laptop"}
			for _, session := range sessions {
				who, device, _ := strings.Cut(session, " ")
				in := newSession(people[who], session)
				in.SID = strings.ReplaceAll(device, "laptop", who+"'s laptop")
				must(s.CreateSession(t.Context(), in))(t)
			}
			test.logout.Issuer, test.logout.TokenID = issuer, "jti"
			if err := s.EndSessions(t.Context(), test.logout); err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, session := range sessions {
				if _, err := s.Session(t.Context(), []byte(session), time.Hour); err == nil {
					left = append(left, session)
				}
			}
			if !slices.Equal(left, test.left) {
				t.Errorf("left are %q, want %q", left, test.left)
			}
			if kept := must(s.Revocations(t.Context()))(t); len(kept) != 1 || kept[0].Kind != test.kind || kept[0].Key != store.KeyOf(issuer, test.id) {
				t.Errorf("kept are %+v", kept)
			}
			wantErr(t, s.EndSessions(t.Context(), test.logout), store.ErrConflict)
		})
	}
}

// A logout that arrives while a sign-in is under way must not be undone by it.
func TestSignInAfterARevocation(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	begin := func(state string) time.Time {
		if err := s.CreateLogin(t.Context(), store.Login{StateHash: []byte(state), KeepFor: time.Hour}); err != nil {
			t.Fatal(err)
		}
		return must(s.TakeLogin(t.Context(), []byte(state)))(t).CreatedAt
	}
	signIn := func(began time.Time, sid string) error {
		in := newSession(member, uuid.NewString())
		in.BeganAt, in.SID = began, sid
		_, err := s.CreateSession(t.Context(), in)
		return err
	}
	before := begin("before")
	if err := s.RevokeUser(t.Context(), member.UserID); err != nil {
		t.Fatal(err)
	}
	if err := s.EndSessions(t.Context(), store.Logout{Issuer: issuer, SID: "ended", TokenID: "1"}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, signIn(before, "other"), store.ErrConflict)
	after := must(s.Revocations(t.Context()))(t)[0].At.Add(time.Hour)
	wantErr(t, signIn(after, "other"), nil)
	wantErr(t, signIn(after, "ended"), store.ErrConflict)
}

// A sign-in prunes sessions that have expired, and a revocation at the same moment ends sessions of the same user: each
// must not hold what the other waits for.
func TestSignInWhileRevoking(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.Open(t, store.Config{URL: url})
	member := ensure(t, s, alice())
	must(s.CreateSession(t.Context(), newSession(member, "old")))(t)
	execute(t, url, "UPDATE sessions SET expires_at = now()")

	revoking := must(connect(t, url).Begin(t.Context()))(t)
	must(revoking.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended(issuer || ' ' || subject, 0)) FROM users"))(t)
	signedIn := make(chan error)
	go func() {
		_, err := s.CreateSession(t.Context(), newSession(member, "new"))
		signedIn <- err
	}()
	awaitLockWaiters(t, url, 1)
	if _, err := revoking.Exec(t.Context(), "DELETE FROM sessions WHERE user_id = $1", member.UserID); err != nil {
		t.Errorf("revoking: %v", err)
	}
	commit(t, revoking)
	if err := <-signedIn; err != nil {
		t.Errorf("signing in: %v", err)
	}
}

// awaitLockWaiters waits until so many statements of the database wait for an advisory lock.
func awaitLockWaiters(t *testing.T, url string, n int) {
	t.Helper()
	conn := connect(t, url)
	for waiting := 0; waiting < n; {
		const count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
		if err := conn.QueryRow(t.Context(), count).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
}
