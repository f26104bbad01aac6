// Removeexample takes the example domain, tasks and reports, out of a fork: the files that example.txt lists, here and in
// web, what example marks enclose in the others, and the tables, by a migration. Then it writes anew what is generated, and
// go.mod. It goes with the example.
//
//	go run ./scripts/removeexample
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	if len(os.Args) != 1 {
		fmt.Fprintln(os.Stderr, "remove-example: takes no arguments: make remove-example")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := removeExample(ctx, "."); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "remove-example:", err)
		os.Exit(1) //nolint:gocritic // Stopped above.
	}
}

func removeExample(ctx context.Context, dir string) error {
	done, err := remove(ctx, dir)
	if err != nil {
		return err
	}
	if err := regenerate(ctx, dir); err != nil {
		return err
	}
	fmt.Println(done)
	if err := dropModules(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, "remove-example:", err)
	}
	fmt.Println("Next: git add --all && git diff --cached to see what it did, make check test, and commit. Then add your own: docs/forking.md says where.")
	return nil
}
