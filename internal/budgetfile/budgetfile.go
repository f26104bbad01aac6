// Package budgetfile reads what a deployment changes of the table of budgets.
//
// The file is a JSON object from the names of budgets to what is changed of each:
//
//	{"user": {"limit": 200}, "org": {"limit": 600, "refill": 10}, "tasks.export": {"enforce": false}}
//
// It is checked as a whole, and everything that is wrong with it is said at once.
package budgetfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/gatehouse/api"
)

// A Row is a budget as the deployment has it.
type Row struct {
	api.Budget
	// Enforce is false for a shadow: counted, never refusing.
	Enforce   bool
	Unlimited bool
	// Placed says that the file names the row's store, if only the table's.
	Placed bool
	// Changed says that the file changes something of it, and does not only repeat the table.
	Changed bool
}

// Table is the table that no file changes.
func Table(budgets []api.Budget) []Row {
	rows := make([]Row, len(budgets))
	for i, b := range budgets {
		rows[i] = Row{Budget: b, Enforce: true}
	}
	return rows
}

// A change is what the file says of one budget. What is absent stays.
type change struct {
	Limit     *int64     `json:"limit"`
	Refill    *int64     `json:"refill"`
	Enforce   *bool      `json:"enforce"`
	Unlimited *bool      `json:"unlimited"`
	OnFailure *api.Mode  `json:"onFailure"`
	Store     *api.Place `json:"store"`
}

// Parse reads a file over the table. The routes say which budgets are decided together, and so need one store.
func Parse(data []byte, budgets []api.Budget, routes []api.Route) ([]Row, error) {
	changes, faults := decode(data, budgets)
	rows := Table(budgets)
	for i := range rows {
		if c, ok := changes[rows[i].Name]; ok {
			faults = append(faults, rows[i].change(c)...)
		}
	}
	faults = append(faults, together(rows, routes)...)
	faults = append(faults, underEdge(rows)...)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return rows, nil
}

// decode reads the changes by budget, and says of every name and field that is wrong. What is wrong is not in the changes.
func decode(data []byte, budgets []api.Budget) (changes map[string]change, faults []error) {
	fields, err := object(data)
	if err != nil {
		return nil, []error{fmt.Errorf("the file must be a JSON object of budgets: %w", err)}
	}
	changes = map[string]change{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.ContainsFunc(budgets, func(b api.Budget) bool { return b.Name == name }) {
			faults = append(faults, fmt.Errorf("%s: there is no such budget; there are %s", name, names(budgets)))
			continue
		}
		c, wrong := decodeChange(fields[name])
		for _, fault := range wrong {
			faults = append(faults, fmt.Errorf("%s: %w", name, fault))
		}
		changes[name] = c
	}
	return changes, faults
}

func names(budgets []api.Budget) string {
	all := make([]string, len(budgets))
	for i, b := range budgets {
		all[i] = b.Name
	}
	return strings.Join(all, ", ")
}

// decodeChange reads each field by itself, so that one that is wrong hides no other.
func decodeChange(data json.RawMessage) (c change, faults []error) {
	fields, err := object(data)
	if err != nil {
		return c, []error{fmt.Errorf("must be a JSON object: %w", err)}
	}
	known := map[string]struct {
		read func(json.RawMessage) bool
		kind string
	}{
		"limit": {into(&c.Limit), "a whole number"}, "refill": {into(&c.Refill), "a whole number"},
		"enforce": {into(&c.Enforce), "true or false"}, "unlimited": {into(&c.Unlimited), "true or false"},
		"onFailure": {into(&c.OnFailure), "open, local or closed"}, "store": {into(&c.Store), "memory, redis or postgres"},
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, ok := known[name]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("%s is no field; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		case !field.read(fields[name]):
			faults = append(faults, fmt.Errorf("%s must be %s", name, field.kind))
		}
	}
	return c, faults
}

// into reads a value, and leaves what is there as it is where the value is of another kind.
func into[T any](to **T) func(json.RawMessage) bool {
	return func(data json.RawMessage) bool {
		var value T
		if string(data) == "null" || json.Unmarshal(data, &value) != nil {
			return false
		}
		*to = &value
		return true
	}
}

// object reads a JSON object and nothing behind it, and refuses a key that is there twice, of which encoding/json would
// take the last.
func object(data []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty; write {} to change nothing")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	switch start, err := dec.Token(); {
	case err != nil:
		return nil, unread(err)
	case start == nil:
		return nil, errors.New("it is null; leave it out, or write {}")
	case start != json.Delim('{'):
		return nil, fmt.Errorf("it begins with %v", start)
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, unread(err)
		}
		name, _ := key.(string)
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("%q: %w", name, unread(err))
		}
		fields[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, unread(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the object at byte %d", dec.InputOffset())
	}
	return fields, nil
}

// unread words why JSON cannot be read. Its end is no end of a file to whoever reads the message.
func unread(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too soon; a value, a quote or a } is missing at its end")
	}
	return fmt.Errorf("read JSON: %w", err)
}

// change applies what the file says of the row, and says what the row cannot be.
func (r *Row) change(c change) []error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(r.Name+": "+format, args...))
		}
	}
	before := *r
	set(&r.Limit, c.Limit)
	set(&r.Refill, c.Refill)
	set(&r.Enforce, c.Enforce)
	set(&r.Unlimited, c.Unlimited)
	set(&r.OnFailure, c.OnFailure)
	set(&r.Place, c.Store)
	fault(r.Limit < 0, "limit must not be negative; 0 denies everything, and unlimited has no limit")
	fault(c.Limit != nil && r.Unlimited, "limit and unlimited exclude each other")
	fault(r.Algorithm == api.Sliding && r.Limit > api.MaxSlidingLimit, "limit must be at most %d: it keeps the time of each unit", api.MaxSlidingLimit)
	fault(r.Limit > api.MaxLimit, "limit must be at most %d", api.MaxLimit)
	fault(c.Refill != nil && r.Algorithm != api.Bucket, "refill belongs to a token bucket, and this budget is a %s", r.Algorithm)
	fault(r.Algorithm == api.Bucket && (r.Refill < 1 || r.Refill > api.MaxLimit), "refill must be from 1 to %d", api.MaxLimit)
	fault(!slices.Contains([]api.Mode{api.FailOpen, api.FailLocal, api.FailClosed}, r.OnFailure), "onFailure must be open, local or closed, not %q", r.OnFailure)
	fault(!slices.Contains([]api.Place{api.InMemory, api.InRedis, api.InPostgres}, r.Place), "store must be memory, redis or postgres, not %q", r.Place)
	fault(!r.Place.Counts(r.Algorithm), "store %s has no %s", r.Place, r.Algorithm)
	fault(r.OnFailure == api.FailClosed && r.Place == api.InMemory, "a budget that fails closed is not counted in memory, which each process forgets by itself: use store postgres or redis")
	if len(faults) == 0 && r.Algorithm == api.Bucket {
		r.Window = span(r.Limit, r.Refill)
		fault(r.Window > api.MaxWindow, "a bucket of %d filled with %d a second takes longer than %v", r.Limit, r.Refill, api.MaxWindow)
	}
	r.Changed = *r != before
	r.Placed = c.Store != nil
	return faults
}

// span is the time in which an empty bucket fills.
func span(limit, refill int64) time.Duration {
	seconds := (limit + refill - 1) / refill
	if seconds > int64(api.MaxWindow/time.Second) {
		return api.MaxWindow + time.Second
	}
	return time.Duration(limit*1e6/refill) * time.Microsecond
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// together faults routes whose budgets would be counted in different stores: a route's budgets are one decision.
func together(rows []Row, routes []api.Route) []error {
	var faults []error
	for route, pair := range Apart(rows, routes) {
		faults = append(faults, fmt.Errorf("%s and %s are decided together, by %s, so they need one store, and have %s and %s: give both the same, or leave store out of both",
			pair[0].Name, pair[1].Name, route, storeOf(pair[0]), storeOf(pair[1])))
	}
	return faults
}

// storeOf names a row's store, and what stands in for one that the table only prefers.
func storeOf(r Row) string {
	if r.Place == api.InRedis && !r.Placed {
		return "redis (memory without REDIS_URL)"
	}
	return string(r.Place)
}

// Apart goes through the pairs of budgets that a route, named by its id, charges in one decision, and whose places are not the
// same; through each pair once.
func Apart(rows []Row, routes []api.Route) iter.Seq2[string, [2]Row] {
	return func(yield func(string, [2]Row) bool) {
		named, said := make(map[string]Row, len(rows)), map[string]bool{}
		for _, r := range rows {
			named[r.Name] = r
		}
		for _, route := range routes {
			for _, name := range route.Charges() {
				first := route.Charges()[0]
				if named[name].Place == named[first].Place || said[first+" "+name] {
					continue
				}
				said[first+" "+name] = true
				if !yield(route.ID, [2]Row{named[first], named[name]}) {
					return
				}
			}
		}
	}
}

// underEdge holds user under what the edge lets one person through to: more would be promised than is kept.
func underEdge(rows []Row) []error {
	limits := map[string]Row{}
	for _, r := range rows {
		limits[r.Name] = r
	}
	user, edge := limits[api.BudgetUser], limits[api.BudgetEdgeCaller]
	switch {
	case edge.Name == "" || edge.Unlimited || user.Name == "":
		return nil
	case user.Unlimited:
		return []error{fmt.Errorf("%s: cannot be unlimited while %s is %d", user.Name, edge.Name, edge.Limit)}
	case user.Limit > edge.Limit:
		return []error{fmt.Errorf("%s: limit %d must be at most the %d of %s", user.Name, user.Limit, edge.Limit, edge.Name)}
	}
	return nil
}
