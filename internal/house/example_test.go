package house

import (
	"path/filepath"
	"testing"
)

// TestForkWithoutTheExample makes a fork without the example domain, by make remove-example in a copy of the tree. All of it
// builds, all of its tests compile, and those run that are quick or that hold what a fork is forked for.
func TestForkWithoutTheExample(t *testing.T) {
	t.Parallel()
	fork := copyTree(t)
	git := []string{
		"GIT_DIR=" + filepath.Join(fork, ".git"), "GIT_WORK_TREE=" + fork, "GIT_INDEX_FILE=" + filepath.Join(fork, ".git", "index"),
	}
	run(t, fork, git, "git", "init", "--quiet")
	run(t, fork, git, "git", "add", "--all")
	run(t, fork, git, "git", "-c", "user.name=fork", "-c", "user.email=fork@example.org", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=Fork")
	run(t, fork, git, "make", "remove-example")

	run(t, fork, nil, "go", "build", "./...")
	run(t, fork, nil, "go", "vet", "./...")
	run(t, fork, nil, "go", "test", "./api/...", "./internal/openapi", "./internal/httpapi", "./internal/config", "./internal/budgetfile",
		"./mobileclient/bind", "./mobileclient/mobiletest")
	run(t, fork, nil, "go", "test", "./internal/house", "-run", "TestImports|TestDependencies|TestDocs|TestQueries|TestOperations")
	run(t, fork, nil, "go", "test", "./internal/app", "-run",
		"^(TestWebSignIn|TestLimits|TestEveryRoute|TestSprayIsThrottledBeforeAuthentication|TestRevokedUser|TestTour)$")
}
