package house

import (
	"path/filepath"
	"testing"
)

// TestForkWithoutTheExample makes a fork without the example domain, by make remove-example in a copy of the tree. All of it
// and all of its tests compile, its documentation is true, and its server starts on a database of all migrations, signs people
// in and serves every route. That all of its tests pass, in Go, of the page and in a browser, is make fork-check's to show.
func TestForkWithoutTheExample(t *testing.T) {
	t.Parallel()
	fork := copyTree(t)
	git := []string{
		"GIT_DIR=" + filepath.Join(fork, ".git"), "GIT_WORK_TREE=" + fork, "GIT_INDEX_FILE=" + filepath.Join(fork, ".git", "index"),
	}
	run(t, fork, git, "git", "init", "--quiet")
	run(t, fork, git, "git", "add", "--all")
	run(t, fork, git, "git", "-c", "user.name=fork", "-c", "user.email=fork@example.org", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=Fork")
	// What no module on this machine tells stays in go.mod: nothing is fetched for a test.
	run(t, fork, append(git, "GOPROXY=off"), "make", "remove-example")

	run(t, fork, nil, "go", "vet", "./...")
	run(t, fork, nil, "go", "test", "-vet=off", "-run", "^Test(Imports|Dependencies|Docs|Operations|Budgets$|Routes$|EveryRoute$|WebSignIn$)",
		"./api", "./internal/house", "./internal/app")
}
