-- name: ClaimKey :execrows
-- A key that is new or has expired; no row changes while another has it.
INSERT INTO idempotency_keys AS k (user_id, route, key, fingerprint, claim, expires_at)
VALUES (@user_id, @route, @key, @fingerprint, @claim, clock_timestamp() + @claim_for::interval)
ON CONFLICT (user_id, route, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, claim = excluded.claim, expires_at = excluded.expires_at,
        status = NULL, location = '', content_type = '', body = ''
    WHERE k.expires_at <= clock_timestamp();

-- name: KeptAnswer :one
SELECT fingerprint, status, location, content_type, body FROM idempotency_keys
WHERE user_id = @user_id AND route = @route AND key = @key;

-- name: KeepAnswer :execrows
UPDATE idempotency_keys
SET status = @status, location = @location, content_type = @content_type, body = @body,
    expires_at = clock_timestamp() + @keep_for::interval
WHERE user_id = @user_id AND route = @route AND key = @key AND claim = @claim AND status IS NULL;

-- name: ReleaseKey :exec
DELETE FROM idempotency_keys
WHERE user_id = @user_id AND route = @route AND key = @key AND claim = @claim AND status IS NULL;

-- name: PruneKeys :exec
-- A few at a time: each claim makes one row, so this keeps up.
DELETE FROM idempotency_keys WHERE (user_id, route, key) IN (
    SELECT k.user_id, k.route, k.key FROM idempotency_keys k
    WHERE k.expires_at <= clock_timestamp() ORDER BY k.expires_at LIMIT 10 FOR UPDATE SKIP LOCKED
);
