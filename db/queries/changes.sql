-- name: Announce :exec
-- Tells every process of a change. The notification is sent when the transaction commits; it only makes readers look at once.
WITH change AS (
    INSERT INTO changes (kind, subject) VALUES (@kind, @subject) RETURNING id
)
SELECT pg_notify('changes', '') FROM change;

-- name: PruneChanges :exec
-- A bounded batch; what another process is pruning is passed over.
DELETE FROM changes WHERE (changes.transaction, changes.id) IN (
    SELECT c.transaction, c.id FROM changes c WHERE c.at < now() - @keep_for::interval
    ORDER BY c.at LIMIT 1000 FOR UPDATE SKIP LOCKED
);
