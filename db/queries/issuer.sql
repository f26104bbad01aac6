-- name: IDPKeys :many
SELECT key, (now() - created_at)::interval AS age FROM idp_keys ORDER BY created_at DESC, id DESC;

-- name: AddIDPKey :exec
-- Unless another process was quicker.
INSERT INTO idp_keys (id, key) SELECT @id, @key
WHERE NOT EXISTS (SELECT FROM idp_keys k WHERE k.created_at > now() - @rotate_after::interval);

-- name: PruneIDPKeys :exec
-- Those that were replaced so long ago.
DELETE FROM idp_keys WHERE EXISTS (
    SELECT FROM idp_keys n WHERE n.created_at > idp_keys.created_at AND n.created_at < now() - @keep_for::interval
);

-- name: LockInTransaction :exec
-- Held to the end of the transaction; the text names what is locked.
SELECT pg_advisory_xact_lock(hashtextextended(@name::text, 0));

-- name: AddIDPGrant :execrows
-- No row when the family has been revoked. It expires by this clock, as it is asked for by this clock: no process's is trusted.
INSERT INTO idp_grants (kind, hash, family, payload, expires_at)
SELECT @kind, @hash, @family::uuid, @payload, now() + @keep_for::interval
WHERE NOT EXISTS (SELECT FROM idp_grants g WHERE g.family = @family::uuid AND g.revoked_at IS NOT NULL);

-- name: UseIDPGrant :one
UPDATE idp_grants SET used_at = now()
WHERE kind = @kind AND hash = @hash AND expires_at > now() AND used_at IS NULL AND revoked_at IS NULL
RETURNING kind, hash, family, payload;

-- name: UsedIDPGrant :one
SELECT kind, hash, family, payload FROM idp_grants
WHERE kind = @kind AND hash = @hash AND expires_at > now() AND used_at IS NOT NULL AND revoked_at IS NULL;

-- name: RevokeIDPFamily :exec
UPDATE idp_grants SET revoked_at = now() WHERE family = @family AND revoked_at IS NULL;

-- name: PruneIDPGrants :exec
DELETE FROM idp_grants WHERE (idp_grants.kind, idp_grants.hash) IN (
    SELECT g.kind, g.hash FROM idp_grants g WHERE g.expires_at <= now() ORDER BY g.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED
);
