package ratelimit

import "time"

// A table is the rows of a limiter at one time. It is never changed: other numbers are another table.
type table struct {
	rows  map[string]*row
	order []*row
}

// A row is a budget with what the limiter keeps for it.
type row struct {
	budget  Budget
	guard   *guard
	hooks   BudgetHooks
	outages *outages
}

// Reload puts other rows in place of the table's, or says everything that is wrong with them and keeps the old ones. What
// was counted stays counted, as long as a budget's store is the same, and an outage goes on: a decision under way ends by
// the row that it began with.
func (l *Limiter) Reload(budgets []Budget) error {
	l.reload.Lock()
	defer l.reload.Unlock()
	config := l.config
	config.Budgets = budgets
	if err := config.lint(); err != nil {
		return err
	}
	l.fill(budgets)
	return nil
}

// fill makes a table of the budgets. A budget whose store or mode is another begins without an outage.
func (l *Limiter) fill(budgets []Budget) {
	last, next := l.table.Load(), &table{rows: make(map[string]*row, len(budgets))}
	for _, b := range budgets {
		r := &row{budget: b, guard: l.guards[b.Store], outages: &outages{hooks: l.config.Hooks}}
		if before := last.row(b.Name); before != nil {
			r.outages = before.outages
			if before.guard != r.guard || before.budget.OnFailure != b.OnFailure {
				r.outages.end(EndedByChange)
			}
		}
		if l.config.Hooks.Budget != nil {
			r.hooks = l.config.Hooks.Budget(&r.budget)
		}
		r.guard.watch(r.outages)
		next.rows[b.Name] = r
		next.order = append(next.order, r)
	}
	l.table.Store(next)
}

func (l *Limiter) row(name string) *row { return l.table.Load().row(name) }

// row finds a row, or nil; a table that is not there yet has none.
func (t *table) row(name string) *row {
	if t == nil {
		return nil
	}
	return t.rows[name]
}

// noteOutage counts a decision that had to do without the store.
func (r *row) noteOutage(now time.Time, err error) {
	r.guard.failed(now)
	r.outages.note(&r.budget, now, err)
}

func (r *row) noteFault(now time.Time, key Key, err error) {
	r.outages.noteFault(&r.budget, now, key, err)
}
