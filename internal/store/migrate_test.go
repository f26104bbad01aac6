package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func TestMigrateByTwoServersAtOnce(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyURL(t)
	_, errs := together(2, func(int) (struct{}, error) {
		return struct{}{}, storetest.Open(t, store.Config{URL: url}).Migrate(t.Context())
	})
	if succeeded(errs) != 2 {
		t.Fatalf("migrations by two servers at once ended with %v", errs)
	}
	s := storetest.Open(t, store.Config{URL: url})
	if schema, err := s.Schema(t.Context()); schema.Behind || schema.Ahead || err != nil {
		t.Errorf("the schema is %+v, %v", schema, err)
	}
	ensure(t, s, alice())
	if twice := scalar[int](t, url, `SELECT count(*) FROM (SELECT FROM goose_db_version GROUP BY version_id HAVING count(*) > 1) v`); twice != 0 {
		t.Errorf("%d migrations ran twice", twice)
	}
}

func TestMigrateAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := ensure(t, s, alice()); again != member {
		t.Errorf("after migrating again the user is %+v, was %+v", again, member)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		url   func(testing.TB) string
		alter string
		want  store.Schema
	}{
		{"a new database", storetest.EmptyURL, "", store.Schema{Behind: true}},
		{"a migrated one", storetest.URL, "", store.Schema{}},
		{"the newest is missing", storetest.URL, "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)", store.Schema{Behind: true}},
		{"one in between is missing", storetest.URL, "DELETE FROM goose_db_version WHERE version_id = 2", store.Schema{Behind: true}},
		{"ahead of this build", storetest.URL, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)", store.Schema{Ahead: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := tt.url(t)
			if tt.alter != "" {
				execute(t, url, tt.alter)
			}
			s := storetest.Open(t, store.Config{URL: url})
			if got := must(s.Schema(t.Context()))(t); got != tt.want {
				t.Errorf("the schema is %+v, want %+v", got, tt.want)
			}
		})
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// execute does what no method of the store does, such as to let time pass for a row.
func execute(t *testing.T, url, sql string, args ...any) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func scalar[T any](t *testing.T, url, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := connect(t, url).QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
