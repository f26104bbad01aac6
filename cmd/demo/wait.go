package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"example.com/gatehouse/api"
)

// awaitBudgets waits until what an earlier run has spent is free again.
func (d *demo) awaitBudgets(ctx context.Context) error {
	for person := range d.people {
		if err := d.awaitBudgetsOf(ctx, person); err != nil {
			return fmt.Errorf("wait for the budgets of %s: %w", person, err)
		}
	}
	return nil
}

func (d *demo) awaitBudgetsOf(ctx context.Context, person string) error {
	for {
		limits, err := d.people[person].FetchLimits(ctx)
		if err != nil {
			return fmt.Errorf("fetch limits: %w", err)
		}
		name, wait := longestWait(limits)
		if wait == 0 {
			return nil
		}
		if err := d.wait(ctx, wait, fmt.Sprintf("%s of %s is spent", name, person)); err != nil {
			return err
		}
	}
}

// longestWait is over the budgets that the promises spend. A unit's return is all that limits.get tells, so many small
// waits may follow each other; together they are never longer than the window.
func longestWait(limits api.Limits) (name string, wait time.Duration) {
	for _, b := range limits.Budgets {
		if b.Per != api.PerUser || b.Name == api.BudgetEdgeCaller || b.Limit == nil || b.Remaining == nil || *b.Remaining == *b.Limit {
			continue
		}
		if w := time.Duration(b.ResetMS) * time.Millisecond; w >= wait {
			name, wait = b.Name, max(w, 100*time.Millisecond)
		}
	}
	return name, wait
}

// wait sleeps, says for how long and why, and counts down on a terminal.
func (d *demo) wait(ctx context.Context, length time.Duration, why string) error {
	fmt.Fprintf(d.out, "waiting %s: %s\n", length.Round(100*time.Millisecond), why)
	end := time.Now().Add(length)
	for left := length; left > 0; left = time.Until(end) {
		if d.onTerminal() {
			fmt.Fprintf(d.out, "\r%3d s ", api.CeilSeconds(left))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait: %w", ctx.Err())
		case <-time.After(min(left, time.Second)):
		}
	}
	if d.onTerminal() {
		fmt.Fprint(d.out, "\r      \r")
	}
	return nil
}

func (d *demo) onTerminal() bool {
	file, ok := d.out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
