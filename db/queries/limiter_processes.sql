-- name: AnnounceProcess :exec
INSERT INTO limiter_processes (id, hash, settings, seen_at) VALUES (@id, @hash, @settings, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, settings = excluded.settings, seen_at = excluded.seen_at;

-- name: ForgetDeadProcesses :exec
DELETE FROM limiter_processes WHERE seen_at < clock_timestamp() - @live_for::interval;

-- name: DisagreeingProcesses :many
-- One of each hash. A few are enough to say what is wrong.
SELECT DISTINCT ON (hash) id, hash, settings FROM limiter_processes WHERE hash <> @hash ORDER BY hash, seen_at DESC LIMIT 10;

-- name: WithdrawProcess :exec
DELETE FROM limiter_processes WHERE id = @id;
