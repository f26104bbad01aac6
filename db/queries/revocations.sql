-- name: Revoke :one
-- Again is later: the tokens issued meanwhile are refused too.
INSERT INTO revocations AS r (kind, key, user_id, expires_at)
VALUES (@kind, @key, sqlc.narg(user_id), clock_timestamp() + @keep_for::interval)
ON CONFLICT (kind, key) DO UPDATE SET
    user_id = coalesce(excluded.user_id, r.user_id), at = clock_timestamp(), expires_at = greatest(r.expires_at, excluded.expires_at)
RETURNING *;

-- name: Revocations :many
SELECT * FROM revocations WHERE expires_at > now();

-- name: IsRevoked :one
-- Whether a sign-in that began then comes too late: its user was revoked since, or the issuer has ended its session.
SELECT EXISTS (
    SELECT FROM revocations
    WHERE (kind = 'user' AND key = @user_key AND at >= @began_at::timestamptz)
       OR (kind = 'session' AND key = @session_key)
);

-- name: PruneRevocations :exec
DELETE FROM revocations WHERE (revocations.kind, revocations.key) IN (
    SELECT r.kind, r.key FROM revocations r WHERE r.expires_at <= now() ORDER BY r.expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED
);

-- name: UseLogoutToken :execrows
-- No row when the token was used before.
INSERT INTO logout_tokens (key, expires_at) VALUES (@key, now() + @keep_for::interval) ON CONFLICT (key) DO NOTHING;

-- name: PruneLogoutTokens :exec
DELETE FROM logout_tokens WHERE logout_tokens.key IN (
    SELECT t.key FROM logout_tokens t WHERE t.expires_at <= now() ORDER BY t.expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED
);
