// Command demo shows the promises against a running server, as clients would meet them: one line each, kept or broken.
//
// It signs four people in at the server's development issuer first. Budgets that an earlier run has spent are waited
// for, and the wait is printed. It ends with status 1 if a promise was broken, and with 2 if it could not be tried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"example.com/gatehouse/mobileclient"
)

func main() { os.Exit(status()) }

// status runs the demo and returns 0 if all promises were kept, 1 if one was broken, 2 if they could not be tried.
func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "demo:", err)
	if errors.Is(err, errBroken) {
		return 1
	}
	return 2
}

var errBroken = errors.New("a promise was broken")

// A demo is one run against one server.
type demo struct {
	url, metrics string
	replicas     int
	out          io.Writer
	tokens       map[string]string
	people       map[string]*mobileclient.Client
}

func run(ctx context.Context, args []string, out io.Writer) error {
	d, err := parse(args, out)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := d.signInAll(ctx); err != nil {
		return err
	}
	if err := d.awaitBudgets(ctx); err != nil {
		return err
	}
	broken := 0
	for _, p := range d.promises() {
		if !d.show(ctx, p) {
			broken++
		}
	}
	fmt.Fprintf(out, "%d promises, %d broken, in %s\n", len(d.promises()), broken, time.Since(began).Round(time.Second))
	if broken > 0 {
		return errBroken
	}
	return nil
}

func parse(args []string, out io.Writer) (*demo, error) {
	d := &demo{out: out, tokens: map[string]string{}, people: map[string]*mobileclient.Client{}}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&d.url, "url", "http://localhost:8080", "where the server is")
	flags.StringVar(&d.metrics, "metrics", "", "where its metrics are, such as http://localhost:9090/metrics; empty: look-ups are not counted")
	flags.IntVar(&d.replicas, "replicas", 1, "how many servers share the load")
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	if flags.NArg() > 0 || d.replicas < 1 {
		return nil, fmt.Errorf("usage: demo [-url URL] [-metrics URL] [-replicas N], with N at least 1; got %q", args)
	}
	return d, nil
}

// signInAll comes before everything: what follows spends the address's budget on purpose.
func (d *demo) signInAll(ctx context.Context) error {
	for _, person := range []string{alice, bob, carol, dave} {
		token, err := d.signIn(ctx, person)
		if err != nil {
			return fmt.Errorf("sign %s in: %w", person, err)
		}
		client, err := mobileclient.New(d.url, mobileclient.WithTokenSource(mobileclient.StaticToken(token)))
		if err != nil {
			return fmt.Errorf("make a client for %s: %w", person, err)
		}
		d.tokens[person], d.people[person] = token, client
	}
	return nil
}

// show tries one promise and prints how it went.
func (d *demo) show(ctx context.Context, p promise) bool {
	note, err := p.try(ctx)
	if err != nil {
		fmt.Fprintf(d.out, "BROKEN  %s: %v\n", p.says, err)
		return false
	}
	fmt.Fprintf(d.out, "kept    %s (%s)\n", p.says, note)
	return true
}
