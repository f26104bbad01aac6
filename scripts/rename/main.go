// Rename gives a fork of this project a module path of its own. It changes go.mod files and the imports of Go
// files, and nothing else, because the module path stands nowhere else.
//
//	go run ./scripts/rename example.org/you/app
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "rename: name the new module path: make rename MODULE=example.org/you/app")
		os.Exit(2)
	}
	changed, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf("The module is %s now; %d files changed.\n", os.Args[1], changed)
}
