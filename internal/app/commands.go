package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/config"
	"example.com/gatehouse/internal/devidp"
	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/telemetry"
)

// migrate brings the schema up to this build. Of several at once the first does the work, and the others wait for it.
func migrate(ctx context.Context, in invocation) error {
	return withDatabase(ctx, in, "migrate", func(s *store.Store, cfg config.Config) error {
		if err := s.Migrate(ctx); err != nil {
			return err
		}
		telemetry.NewLogger(in.stdout, cfg.LogLevel, cfg.LogFormat, nil).InfoContext(ctx, "the schema is up to date")
		return nil
	})
}

// seed makes the development issuer's organisations and what they begin with.
func seed(ctx context.Context, in invocation) error {
	return withDatabase(ctx, in, "seed", func(s *store.Store, cfg config.Config) error {
		if !cfg.DevIssuer {
			return errors.New("seed: the seeds belong to the development issuer, which is not in use: unset OIDC_ISSUER, with APP_ENV=development")
		}
		return s.Seed(ctx, cfg.OIDC.Issuer)
	})
}

func withDatabase(ctx context.Context, in invocation, name string, use func(*store.Store, config.Config) error) error {
	if err := noArgs(in, name); err != nil {
		return err
	}
	cfg, err := config.LoadDatabase(in.getenv)
	if err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		return fmt.Errorf("%s: DATABASE_URL is not set; the embedded database is only there while the server runs, which migrates and seeds it by itself", name)
	}
	s, err := store.Open(ctx, store.Config{URL: string(cfg.DatabaseURL), DirectURL: string(cfg.DatabaseDirectURL)})
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer s.Close()
	return use(s, cfg)
}

// token prints an access token of the running server's development issuer, and nothing else. Without -url it asks where the
// settings would have the server.
func token(ctx context.Context, in invocation) error {
	flags := flag.NewFlagSet("token", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	base := flags.String("url", "", "")
	names, err := interspersed(flags, in.args)
	if err != nil || len(names) != 1 {
		return fmt.Errorf("usage: server token NAME [-url http://localhost:8080]; the names are %s", strings.Join(peopleNames(), ", "))
	}
	if *base == "" {
		if *base, err = config.PublicURL(in.getenv); err != nil {
			return err
		}
	}
	text, err := devidp.FetchToken(ctx, nil, *base, names[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(in.stdout, text)
	return err
}

// interspersed parses flags that stand before or after the other arguments, which it returns.
func interspersed(flags *flag.FlagSet, args []string) ([]string, error) {
	var others []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if args = flags.Args(); len(args) > 0 {
			others, args = append(others, args[0]), args[1:]
		}
	}
	return others, nil
}

func peopleNames() []string {
	var names []string
	for _, p := range devidp.People() {
		names = append(names, p.ID)
	}
	return names
}

// routes prints the contract: what is charged for which route, and what each budget allows, and is counted in, with these
// settings.
func routes(ctx context.Context, in invocation) error {
	if err := noArgs(in, "routes"); err != nil {
		return err
	}
	cfg, err := config.LoadBudgets(in.getenv, checks(ctx, in.getenv)...)
	if err != nil {
		return err
	}
	rows, err := readBudgets(cfg)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ROUTE\tMETHOD\tPATH\tCLASS\tBUDGETS BEHIND THE EDGE")
	for _, r := range api.Routes() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Method, r.Path, r.Class, strings.Join(r.Charges(), ", "))
	}
	fmt.Fprintln(w, "\t\t\t\t")
	fmt.Fprintln(w, "BUDGET\tALLOWANCE\tPER\tALGORITHM\tCOUNTED IN, ON FAILURE, FROM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s, %s, %s\n", r.Name, allowanceOf(r), r.Per, r.Algorithm, r.Place, r.OnFailure, sourceOf(r))
	}
	return w.Flush()
}

// healthcheck fails unless the server of HTTP_ADDR is ready. It is what a container's health check runs.
func healthcheck(ctx context.Context, in invocation) error {
	if err := noArgs(in, "healthcheck"); err != nil {
		return err
	}
	addr := in.getenv("HTTP_ADDR")
	if addr == "" {
		addr = ":8080"
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("HTTP_ADDR=%s: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask for readiness: %w", err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(text)))
	}
	return nil
}
