package budgetfile_test

import (
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/budgetfile"
)

func parse(text string) ([]budgetfile.Row, error) {
	return budgetfile.Parse([]byte(text), api.Budgets(), api.Routes())
}

func find(t *testing.T, rows []budgetfile.Row, name string) budgetfile.Row {
	t.Helper()
	for _, r := range rows {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no row %s", name)
	return budgetfile.Row{}
}

func TestParse(t *testing.T) {
	t.Parallel()
	rows, err := parse(`{"user": {"limit": 200}, "org": {"limit": 1200, "refill": 30},
		"admin.threaddump": {"enforce": false}, "admin": {"unlimited": true},
		"auth.login": {"store": "redis", "onFailure": "open"}, "admin.heapdump": {"limit": 0}}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(api.Budgets()) {
		t.Fatalf("%d rows, want those of the table", len(rows))
	}
	if r := find(t, rows, "user"); r.Limit != 200 || r.Window != time.Minute || !r.Enforce || !r.Changed {
		t.Errorf("user: %+v", r)
	}
	if r := find(t, rows, "org"); r.Limit != 1200 || r.Refill != 30 || r.Window != 40*time.Second {
		t.Errorf("org: %+v", r)
	}
	if r := find(t, rows, "admin.threaddump"); r.Enforce || r.Limit != 20 {
		t.Errorf("admin.threaddump: %+v", r)
	}
	if r := find(t, rows, "admin"); !r.Unlimited {
		t.Errorf("admin: %+v", r)
	}
	if r := find(t, rows, "auth.login"); r.Place != api.InRedis || r.OnFailure != api.FailOpen {
		t.Errorf("auth.login: %+v", r)
	}
	if r := find(t, rows, "auth.refresh"); r.Changed || !r.Enforce || r.Limit != 30 {
		t.Errorf("auth.refresh is %+v, want the table's", r)
	}
}

func TestEmptyFileIsTheTable(t *testing.T) {
	t.Parallel()
	rows, err := parse(`{}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range budgetfile.Table(api.Budgets()) {
		if rows[i] != r {
			t.Errorf("%+v, want %+v", rows[i], r)
		}
	}
}

// A row that only repeats the table is the table's.
func TestChanged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"user": {}}`: false,
		`{"user": {"limit": 100, "enforce": true}}`:        false,
		`{"user": {"unlimited": false, "store": "redis"}}`: false,
		`{"user": {"limit": 101}}`:                         true,
		`{"user": {"enforce": false}}`:                     true,
		`{"user": {"onFailure": "local"}}`:                 true,
	} {
		rows, err := parse(text)
		if err != nil || find(t, rows, "user").Changed != want || find(t, rows, "org").Changed {
			t.Errorf("%s: changed is not %t (%v)", text, want, err)
		}
	}
	if rows, err := parse(`{"org": {"limit": 600, "refill": 10}}`); err != nil || find(t, rows, "org").Changed {
		t.Errorf("a bucket as in the table counts as changed (%v)", err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, want string }{
		"no JSON":                 {`limit: 5`, "read JSON"},
		"empty":                   {"\n", "the file must be a JSON object of budgets: it is empty; write {}"},
		"a brace":                 {`{`, "it ends too soon"},
		"a brace too few":         {`{"user": {"limit": 5}, `, "it ends too soon"},
		"half a word":             {`{"user": {"enforce": tr`, `"user": it ends too soon`},
		"a null for an object":    {`{"user": null}`, "user: must be a JSON object: it is null; leave it out"},
		"a list":                  {`[]`, "must be a JSON object of budgets"},
		"cut off":                 {`{"user": {"limit": 5}`, "it ends too soon"},
		"something behind":        {`{} {}`, "something follows"},
		"a budget twice":          {`{"user": {"limit": 5}, "user": {"limit": 6}}`, `"user" is there twice`},
		"a field twice":           {`{"user": {"limit": 5, "limit": 6}}`, `"limit" is there twice`},
		"an unknown budget":       {`{"users": {"limit": 5}}`, "users: there is no such budget; there are edge, edge.caller, user"},
		"an unknown field":        {`{"user": {"window": 5}}`, "user: window is no field; there are enforce, limit"},
		"a field in capitals":     {`{"user": {"Limit": 5}}`, "Limit is no field"},
		"no object":               {`{"user": 5}`, "user: must be a JSON object"},
		"a text for a number":     {`{"user": {"limit": "5"}}`, "user: limit must be a whole number"},
		"a fraction":              {`{"user": {"limit": 5.5}}`, "user: limit must be a whole number"},
		"null":                    {`{"user": {"limit": null}}`, "user: limit must be a whole number"},
		"a number for a truth":    {`{"user": {"enforce": 1}}`, "user: enforce must be true or false"},
		"a negative limit":        {`{"user": {"limit": -1}}`, "user: limit must not be negative"},
		"a log too long":          {`{"admin": {"limit": 1025}}`, "admin: limit must be at most 1024"},
		"an overflow":             {`{"org": {"limit": 1000000000001}}`, "org: limit must be at most 1000000000000"},
		"limit and unlimited":     {`{"admin": {"limit": 5, "unlimited": true}}`, "exclude each other"},
		"a window that refills":   {`{"admin": {"refill": 5}}`, "admin: refill belongs to a token bucket"},
		"a bucket without refill": {`{"org": {"refill": 0}}`, "org: refill must be from 1"},
		"a bucket of years":       {`{"org": {"limit": 1000000000, "refill": 1}}`, "takes longer than"},
		"a mode":                  {`{"user": {"onFailure": "never"}}`, `onFailure must be open, local or closed, not "never"`},
		"a store":                 {`{"auth.login": {"store": "etcd"}}`, `store must be memory, redis or postgres, not "etcd"`},
		"an algorithm of a store": {`{"org": {"store": "postgres"}}`, "org: store postgres has no token-bucket"},
		"closed in memory":        {`{"auth.login": {"store": "memory"}}`, "auth.login: a budget that fails closed is not counted in memory"},
		"two stores of one route": {`{"user": {"store": "postgres"}}`, "user and org are decided together, by me.get, so they need one store, and have postgres and redis (memory without REDIS_URL): give both the same"},
		"two stores, both named":  {`{"user": {"store": "postgres"}, "org": {"store": "redis"}}`, "and have postgres and redis: give both the same"},
		"user above the edge":     {`{"edge.caller": {"limit": 150}, "user": {"limit": 151}}`, "user: limit 151 must be at most the 150 of edge.caller"},
		"user unlimited":          {`{"user": {"unlimited": true}}`, "user: cannot be unlimited while edge.caller is 1000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, err := parse(c.text)
			if err == nil || rows != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Without the edge's limit there is nothing that user could exceed.
func TestUserMayBeUnlimitedWithoutTheEdge(t *testing.T) {
	t.Parallel()
	if _, err := parse(`{"user": {"unlimited": true}, "edge.caller": {"unlimited": true}}`); err != nil {
		t.Error(err)
	}
}

// Every fault is said at once: each costs whoever writes the file one more try otherwise.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := parse(`{"users": {}, "user": {"limit": "x", "windows": 1}, "org": []}`)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{"users: there is", "user: limit must be", "user: windows is no field", "org: must be"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	_, err = parse(`{"admin": {"limit": -1, "onFailure": "x"}, "admin.threaddump": {"limit": 2000}, "user": {"limit": 1001}}`)
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("want four faults, got\n%v", err)
	}
	_, err = parse(`{"users": {}, "admin": {"limit": -1, "onFailure": 5, "limits": 1}, "admin.threaddump": {"limit": 2000}}`)
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("want five faults of names, kinds and values, got\n%v", err)
	}
}

// Whatever the file holds, it is either refused or makes rows that can be in force.
func FuzzParse(f *testing.F) {
	f.Add(`{"user": {"limit": 200}, "org": {"limit": 600, "refill": 10}}`)
	f.Add(`{"edge": {"enforce": false, "unlimited": true, "onFailure": "closed", "store": "postgres"}}`)
	f.Add(`{"user": {"limit": 1e3}}`)
	f.Add(`{"a": {"b": [1, {"c": null}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := parse(text)
		if err != nil {
			return
		}
		if len(rows) != len(api.Budgets()) {
			t.Fatalf("%d rows", len(rows))
		}
		for _, r := range rows {
			if r.Limit < 0 || r.Limit > api.MaxLimit || r.Window <= 0 && r.Limit > 0 || !r.Place.Counts(r.Algorithm) {
				t.Errorf("%q makes the row %+v", text, r)
			}
			if r.Algorithm == api.Sliding && r.Limit > api.MaxSlidingLimit || r.Algorithm == api.Bucket && r.Refill < 1 {
				t.Errorf("%q makes the row %+v", text, r)
			}
		}
	})
}
