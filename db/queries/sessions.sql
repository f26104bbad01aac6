-- name: CreateLogin :exec
INSERT INTO logins (state_hash, verifier, nonce, return_to, charge, expires_at)
VALUES (@state_hash, @verifier, @nonce, @return_to, @charge, now() + @keep_for::interval);

-- name: TakeLogin :one
-- Deleting is the taking: of two callers with one state, one gets the row.
DELETE FROM logins WHERE state_hash = @state_hash AND expires_at > now()
RETURNING verifier, nonce, return_to, charge, created_at;

-- name: PruneLogins :exec
-- A bounded batch; what another process is pruning is passed over.
DELETE FROM logins WHERE logins.state_hash IN (
    SELECT l.state_hash FROM logins l WHERE l.expires_at <= now() ORDER BY l.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED
);

-- name: CreateSession :exec
INSERT INTO sessions (id, user_id, token_hash, roles, roles_at, sid, id_token, expires_at)
VALUES (@id, @user_id, @token_hash, @roles, @roles_at, @sid, @id_token, now() + @max_for::interval);

-- name: FindSession :one
-- One statement finds the session and notes its use. It writes only when the last note is older than
-- note_after: a minute, or less where the idle time is short.
WITH found AS (
    SELECT s.id, s.user_id, s.roles, s.roles_at, s.sid, s.id_token, s.created_at, s.seen_at, s.expires_at FROM sessions s
    WHERE (s.token_hash = @token_hash OR (s.previous_hash = @token_hash AND s.previous_until > now()))
      AND s.expires_at > now() AND s.seen_at + @idle_for::interval > now()
), noted AS (
    UPDATE sessions SET seen_at = now() FROM found
    WHERE sessions.id = found.id AND found.seen_at < now() - @note_after::interval
    RETURNING sessions.seen_at
)
SELECT found.id, found.roles, found.roles_at, found.sid, found.id_token, found.created_at, found.expires_at,
       (coalesce((SELECT n.seen_at FROM noted n), found.seen_at) + @idle_for::interval)::timestamptz AS idle_expires_at,
       u.id AS user_id, u.issuer, u.subject, u.email, u.name, u.created_at AS user_created_at,
       o.id AS organisation_id, o.name AS organisation_name, o.plan
FROM found JOIN users u ON u.id = found.user_id JOIN organisations o ON o.id = u.organisation_id;

-- name: RotateSession :execrows
UPDATE sessions
SET previous_hash = token_hash, previous_until = now() + @grace::interval, token_hash = @new_hash
WHERE id = @id AND token_hash = @old_hash AND expires_at > now();

-- name: HasPreviousToken :one
SELECT EXISTS (
    SELECT FROM sessions WHERE id = @id AND previous_hash = @hash AND previous_until > now() AND expires_at > now()
);

-- name: DeleteSession :execrows
DELETE FROM sessions WHERE id = @id;

-- name: DeleteSessionsOf :exec
DELETE FROM sessions WHERE user_id = @user_id;

-- name: DeleteSessionsBySID :many
-- The sessions of one session at the issuer; a subject that is given must be theirs.
DELETE FROM sessions WHERE sid = @sid AND user_id IN (
    SELECT u.id FROM users u WHERE u.issuer = @issuer AND (@subject::text = '' OR u.subject = @subject)
) RETURNING user_id;

-- name: PruneSessions :exec
DELETE FROM sessions WHERE sessions.id IN (
    SELECT s.id FROM sessions s WHERE s.expires_at <= now() ORDER BY s.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED
);
