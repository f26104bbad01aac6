// Package app wires the program by hand, in the order in which a reader wants to meet its parts.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/httpapi"
	"example.com/gatehouse/internal/telemetry"
)

// A command is one subcommand of the program.
type command struct {
	name, usage string
	run         func(context.Context, invocation) error
}

// An invocation is how the program was called.
type invocation struct {
	args   []string
	getenv func(string) string
	stdout io.Writer
}

// commands are the subcommands; the first is the default.
func commands() []command {
	return []command{
		{"serve", "serve          run the server (the default)", serve},
		{"migrate", "migrate        bring the database's schema up to this build", migrate},
		{"seed", "seed           make the development issuer's organisations and what they begin with", seed},
		{"token", "token NAME     print an access token of the development issuer, from where HTTP_ADDR has the server or -url says", token},
		{"routes", "routes         print routes, classes and budgets", routes},
		{"healthcheck", "healthcheck    ask the server of HTTP_ADDR whether it is ready", healthcheck},
	}
}

// Run is the program: args without its name, settings through getenv, logs and output to stdout. It ends when ctx does.
func Run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	if len(args) == 0 {
		args = []string{commands()[0].name}
	}
	if slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]) {
		_, err := fmt.Fprintf(stdout, "usage: server [SUBCOMMAND]\n%s\nSettings are environment variables: see .env.example.\n", usage())
		return err //nolint:wrapcheck // Of writing to the terminal.
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, invocation{args: args[1:], getenv: getenv, stdout: stdout})
		}
	}
	return fmt.Errorf("there is no subcommand %q; there are:\n%s", args[0], usage())
}

func usage() string {
	var b strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %s\n", c.usage)
	}
	return strings.TrimRight(b.String(), "\n")
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, in invocation) (err error) {
	if err := noArgs(in, "serve"); err != nil {
		return err
	}
	cfg, err := config.Load(in.getenv, checks(ctx, in.getenv)...)
	if err != nil {
		return err
	}
	s := &server{cfg: cfg, log: telemetry.NewLogger(in.stdout, cfg.LogLevel, cfg.LogFormat, httpapi.RequestID), metrics: telemetry.New()}
	defer func() { err = errors.Join(err, s.close()) }() //nolint:contextcheck // What is closed outlives ctx, whose end is the reason.
	if s.tracing, err = telemetry.NewTracing(ctx, in.getenv, s.log); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	// The listener comes first: a taken port is said at once, and what needs the address knows it.
	if err := s.listen(ctx); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "settings", "settings", s.cfg)
	s.warnOfAdminAddr(ctx)
	return s.run(ctx)
}

func noArgs(in invocation, name string) error {
	if len(in.args) > 0 {
		return fmt.Errorf("the subcommand %s takes no arguments, not %q: settings are environment variables", name, in.args)
	}
	return nil
}
