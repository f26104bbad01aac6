-- name: AnnounceProcess :exec
INSERT INTO limiter_processes (id, hash, settings, seen_at) VALUES (@id, @hash, @settings, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, settings = excluded.settings, seen_at = excluded.seen_at;

-- name: ForgetDeadProcesses :exec
-- One that is just announcing itself again is passed over: two of them must not wait for each other.
DELETE FROM limiter_processes WHERE limiter_processes.id IN (
    SELECT p.id FROM limiter_processes p WHERE p.seen_at < clock_timestamp() - @live_for::interval FOR UPDATE SKIP LOCKED
);

-- name: DisagreeingProcesses :many
-- One of each hash. A few are enough to say what is wrong.
SELECT DISTINCT ON (hash) id, hash, settings FROM limiter_processes WHERE hash <> @hash ORDER BY hash, seen_at DESC LIMIT 10;

-- name: WithdrawProcess :exec
DELETE FROM limiter_processes WHERE id = @id;
