package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing rests on its strength.
	"embed"
	"encoding/hex"
	"regexp"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed script/*.lua
var sources embed.FS

// A script is known to Redis by its hash once it was sent in full.
type script struct {
	name, source, hash string
}

// newScript puts a script together: a line "-- include FILE" stands for that file's text.
func newScript(name string) script {
	include := regexp.MustCompile(`(?m)^ *-- include (\w+\.lua)$`)
	source := include.ReplaceAllStringFunc(read(name), func(line string) string {
		return read(include.FindStringSubmatch(line)[1])
	})
	source = withoutComments(source)
	sum := sha1.Sum([]byte(source)) //nolint:gosec // See the import.
	return script{name: strings.TrimSuffix(name, ".lua"), source: source, hash: hex.EncodeToString(sum[:])}
}

func read(name string) string {
	source, err := sources.ReadFile("script/" + name)
	if err != nil {
		panic(err) // The files are a part of this program.
	}
	return string(source)
}

// withoutComments leaves out what Redis need not be sent.
func withoutComments(source string) string {
	var kept strings.Builder
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			kept.WriteString(line + "\n")
		}
	}
	return kept.String()
}

// A command is one run of a script. It must not be sent twice, as nobody knows whether the first one was counted:
// NoRetry keeps the client from it, on a cluster too, where it otherwise sends again after network faults.
type command struct{ *goredis.StringCmd }

// NoRetry implements redis.Cmder.
func (*command) NoRetry() bool { return true }

// run runs the script on the keys. A server that does not know it has run nothing, so it is sent in full.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args []any) (string, error) {
	cmd := newCommand(ctx, "evalsha", sc.hash, keys, args)
	err := s.client.Process(ctx, cmd)
	if err != nil && goredis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = newCommand(ctx, "eval", sc.source, keys, args)
		err = s.client.Process(ctx, cmd)
	}
	if err != nil {
		return "", err
	}
	return cmd.Val(), nil
}

// begin traces a caller's run of the script, in a queue or not, and gives a deadline to a context that has none. The
// function it returns must be called with the outcome.
func (s *Store) begin(ctx context.Context, sc *script) (_ context.Context, ended func(error)) {
	traced, cancel := func(error) {}, func() {}
	if s.trace != nil {
		ctx, traced = s.trace(ctx, sc.name)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
	}
	return ctx, func(err error) {
		cancel()
		traced(err)
	}
}

func newCommand(ctx context.Context, name, sc string, keys []string, args []any) *command {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, sc, len(keys))
	for i := range keys {
		all = append(all, &keys[i]) // A pointer needs no space of its own in an interface.
	}
	return &command{goredis.NewStringCmd(ctx, append(all, args...)...)}
}
