-- name: TakeCharges :one
-- The migration says what the function expects and answers. No clock: the database's own.
SELECT limiter_take_1(
    @keys::bytea[], @kinds::integer[], @limits::bigint[], @spans::bigint[], @costs::bigint[], @shadows::boolean[],
    @wait_ms::integer, sqlc.narg(clock)::bigint
)::bigint[];

-- name: GiveBackCharges :one
SELECT limiter_give_back_1(
    @keys::bytea[], @kinds::integer[], @spans::bigint[], @receipts::bigint[], @units::bigint[],
    @wait_ms::integer, sqlc.narg(clock)::bigint
)::bigint[];

-- name: ResetCounters :exec
SELECT limiter_reset_1(@keys::bytea[], @wait_ms::integer);

-- name: PruneCounters :one
-- One batch of counters, in the order of their keys, from the one after on: deletes those of them that have expired and
-- answers the last it saw. Whoever is counting keeps their row: locked ones are left for the next time.
WITH batch AS (
    SELECT b.key FROM limiter_counters b WHERE b.key > @after::bytea ORDER BY b.key LIMIT @size::integer
), expired AS (
    SELECT c.key FROM limiter_counters c JOIN batch ON batch.key = c.key
    WHERE c.expires_at <= limiter_clock_1(sqlc.narg(clock)::bigint)
    FOR UPDATE OF c SKIP LOCKED
), deleted AS (
    DELETE FROM limiter_counters c USING expired WHERE c.key = expired.key
)
SELECT batch.key FROM batch ORDER BY batch.key DESC LIMIT 1;

-- name: CountersReady :one
SELECT (to_regclass('limiter_counters') IS NOT NULL AND to_regproc('limiter_take_1') IS NOT NULL)::boolean;
