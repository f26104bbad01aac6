// Removeexample takes the example domain, tasks and reports, out of a fork: the files that example.txt lists, here and in
// web, what example marks enclose in the others, and the tables, by a migration. Then it writes anew what is generated, and
// removes itself.
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
	done, err := remove(ctx, ".")
	if err == nil {
		err = regenerate(ctx, ".")
	}
	if err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "remove-example:", err)
		os.Exit(1) //nolint:gocritic // Stopped above.
	}
	fmt.Print(done)
}
