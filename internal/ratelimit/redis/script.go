package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing rests on its strength.
	_ "embed"
	"encoding/hex"

	goredis "github.com/redis/go-redis/v9"
)

var (
	//go:embed script/counters.lua
	countersSource string
	//go:embed script/take.lua
	takeSource string
	//go:embed script/giveback.lua
	giveBackSource string

	take     = newScript(countersSource + takeSource)
	giveBack = newScript(countersSource + giveBackSource)
)

// A script is known to Redis by its hash once it was sent in full.
type script struct {
	source, hash string
}

func newScript(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // See the import.
	return script{source: source, hash: hex.EncodeToString(sum[:])}
}

// A command is one run of a script. It must not be sent twice, as nobody knows whether the first one was counted:
// NoRetry keeps the client from it, on a cluster too, where it otherwise sends again after network faults.
type command struct {
	*goredis.StringCmd
}

// NoRetry implements redis.Cmder.
func (*command) NoRetry() bool { return true }

// run runs the script on the keys. A server that does not know it has run nothing, so it is sent in full.
func (s *Store) run(ctx context.Context, sc *script, keys []string, request []byte) (string, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	cmd := newCommand(ctx, "evalsha", sc.hash, keys, request)
	err := s.send(ctx, cmd)
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = newCommand(ctx, "eval", sc.source, keys, request)
		err = s.send(ctx, cmd)
	}
	if err != nil {
		return "", err
	}
	return cmd.Val(), nil
}

func newCommand(ctx context.Context, name, sc string, keys []string, request []byte) *command {
	args := make([]any, 0, 4+len(keys))
	args = append(args, name, sc, len(keys))
	for _, key := range keys {
		args = append(args, key)
	}
	return &command{goredis.NewStringCmd(ctx, append(args, request)...)}
}
