package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/mobileclient"
)

// A promise is a sentence and how to try it. The note says what was seen.
type promise struct {
	says string
	try  func(context.Context) (note string, err error)
}

// promises are in an order that lets each find the budgets it needs.
func (d *demo) promises() []promise {
	return []promise{
		{"a protected route without credentials is 401", d.anonymousIsRefused},
		// example:begin
		{"two users on one address have independent budgets", d.usersAreIndependent},
		{"the 11th parse in a minute is 429 RATE_LIMIT_EXCEEDED while lists still work", d.parseIsLimited},
		// example:end
		{"the SDK at full speed is refused by itself and never by the server", d.mirrorHolds},
		{"a spray of bad credentials gets 401, then 429 without any look-up", d.sprayIsThrottled},
		{"a signed-in user on the sprayed address still gets through", d.knownCallerGetsThrough},
	}
}

func (d *demo) anonymousIsRefused(ctx context.Context) (string, error) {
	code, _, err := d.get(ctx, "/api/v1/me", "")
	if err != nil {
		return "", err
	}
	if code != http.StatusUnauthorized {
		return "", fmt.Errorf("it is %d", code)
	}
	return "401", nil
}

// mirrorHolds calls as fast as it can from many goroutines for a while, and on a slow machine for longer: until the SDK
// refuses.
func (d *demo) mirrorHolds(ctx context.Context) (string, error) {
	const callers, length, most = 8, 4 * time.Second, time.Minute
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	began := time.Now()
	var answered, local, remote, other atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil && (time.Since(began) < length || local.Load() == 0) {
				_, err := d.people[dave].Me(ctx)
				count(err, &answered, &local, &remote, &other)
				if err != nil {
					pause(ctx, time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	if remote.Load() > 0 || local.Load() == 0 || answered.Load() == 0 || other.Load() > 0 {
		return "", fmt.Errorf("%d answered, %d refused by the SDK, %d by the server, %d failed otherwise", answered.Load(), local.Load(), remote.Load(), other.Load())
	}
	return fmt.Sprintf("%d answered, %d refused locally with %s, none by the server", answered.Load(), local.Load(), api.CodeRateLimitExceeded), nil
}

func count(err error, answered, local, remote, other *atomic.Int64) {
	var refusal *mobileclient.Error
	switch {
	case err == nil:
		answered.Add(1)
	case errors.As(err, &refusal) && refusal.Code == api.CodeRateLimitExceeded && refusal.Local:
		local.Add(1)
	case errors.Is(err, mobileclient.ErrRateLimited):
		remote.Add(1)
	default:
		other.Add(1)
	}
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// sprayIsThrottled goes on until all servers refuse, and then looks whether more of it buys anything.
func (d *demo) sprayIsThrottled(ctx context.Context) (string, error) {
	// Each credential is another, so a proxy spreads them over the servers: one that still admits meets one of so many.
	const inARow = 20
	edge, _ := api.BudgetNamed(api.BudgetEdge)
	most := int(edge.Limit) * d.replicas
	admitted, refused := 0, 0
	for i := 0; refused < inARow; i++ {
		code, body, err := d.get(ctx, "/api/v1/me", fmt.Sprint("not.a.token-", i))
		switch {
		case err != nil:
			return "", err
		case code == http.StatusTooManyRequests && admitted > 0:
			refused++
		case code == http.StatusUnauthorized && admitted < most:
			admitted, refused = admitted+1, 0
		default:
			return "", fmt.Errorf("after %d × 401, of at most %d (-replicas %d, each of which counts for itself: say how many there are): %d %s",
				admitted, most, d.replicas, code, body)
		}
	}
	return d.afterTheLimit(ctx, admitted)
}

func (d *demo) afterTheLimit(ctx context.Context, admitted int) (string, error) {
	note := fmt.Sprintf("%d × 401, then 429 alone", admitted)
	if d.metrics == "" {
		return note + "; look-ups not counted: no -metrics", nil
	}
	before, err := d.lookUps(ctx)
	if err != nil {
		return "", err
	}
	for range 20 {
		if _, _, err := d.get(ctx, "/api/v1/me", "not.a.token"); err != nil {
			return "", err
		}
	}
	after, err := d.lookUps(ctx)
	if err != nil {
		return "", err
	}
	if after != before {
		return "", fmt.Errorf("%v look-ups after the limit", after-before)
	}
	return note + "; 20 more caused no look-up", nil
}

// lookUps is the sum of what a credential can cost: session look-ups, token checks, key fetches.
func (d *demo) lookUps(ctx context.Context) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.metrics, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("-metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close()
	sum, seen := 0.0, 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "auth_session_lookups_total", "auth_token_checks_total", "auth_key_fetches_total":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("read metric %s: %w", name, err)
			}
			sum, seen = sum+n, seen+1
		}
	}
	if seen < 3 {
		return 0, fmt.Errorf("%s has no metrics of this server", d.metrics)
	}
	return sum, nil
}

func (d *demo) knownCallerGetsThrough(ctx context.Context) (string, error) {
	me, err := d.people[alice].Me(ctx)
	if err != nil {
		return "", err
	}
	return me.Name, nil
}

// get asks the server plainly, without the SDK.
func (d *demo) get(ctx context.Context, path, token string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, http.NoBody)
	if err != nil {
		return 0, "", fmt.Errorf("make request: %w", err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", fmt.Errorf("ask the server: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(body), err
}
