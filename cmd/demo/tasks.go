package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// usersAreIndependent spends one person's exports and asks for another's.
func (d *demo) usersAreIndependent(ctx context.Context) (string, error) {
	most, err := d.limit(ctx, alice, "tasks.export")
	if err != nil {
		return "", err
	}
	for range most {
		if err := d.export(ctx, alice); err != nil {
			return "", fmt.Errorf("alice within her budget: %w", err)
		}
	}
	if err := d.export(ctx, alice); !errors.Is(err, mobileclient.ErrRateLimited) {
		return "", fmt.Errorf("alice beyond her budget: %w", orSucceeded(err))
	}
	if err := d.export(ctx, bob); err != nil {
		return "", fmt.Errorf("bob after alice spent hers: %w", err)
	}
	return fmt.Sprintf("alice's export %d was refused, bob's first was not", most+1), nil
}

// limit asks what the person's plan allows of a budget.
func (d *demo) limit(ctx context.Context, person, budget string) (int64, error) {
	limits, err := d.people[person].FetchLimits(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the limits of %s: %w", person, err)
	}
	for _, b := range limits.Budgets {
		if b.Name == budget && b.Limit != nil {
			return *b.Limit, nil
		}
	}
	return 0, fmt.Errorf("%s has no limit of %s", person, budget)
}

// export asks the server itself: SkipRateLimit passes by the SDK's own check.
func (d *demo) export(ctx context.Context, person string) error {
	body, err := d.people[person].Export(ctx, mobileclient.SkipRateLimit())
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

func (d *demo) parseIsLimited(ctx context.Context) (string, error) {
	budget, _ := api.BudgetNamed("tasks.parse")
	request := api.ParseRequest{Text: "Call Bob tomorrow at 5pm #work"}
	// Spread so that the burst budget of 3 a second is not what refuses.
	pause := time.NewTicker(350 * time.Millisecond)
	defer pause.Stop()
	for i := range budget.Limit {
		if _, err := d.people[carol].Parse(ctx, request, mobileclient.SkipRateLimit()); err != nil {
			return "", fmt.Errorf("parse %d: %w", i+1, err)
		}
		<-pause.C
	}
	_, err := d.people[carol].Parse(ctx, request, mobileclient.SkipRateLimit())
	var refusal *mobileclient.Error
	if !errors.As(err, &refusal) || refusal.Code != api.CodeRateLimitExceeded || refusal.Local {
		return "", fmt.Errorf("parse %d: %w", budget.Limit+1, orSucceeded(err))
	}
	if _, err := d.people[carol].Tasks(ctx, mobileclient.TaskQuery{}); err != nil {
		return "", fmt.Errorf("a list after it: %w", err)
	}
	return fmt.Sprintf("again in %d s", refusal.Details.RetryAfterSeconds), nil
}

func orSucceeded(err error) error {
	if err == nil {
		return errors.New("it succeeded")
	}
	return err
}
