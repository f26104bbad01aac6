-- name: FindMember :one
-- One read for an identity that is known; the store compares it with what the credential says.
SELECT sqlc.embed(u), sqlc.embed(o)
FROM users u JOIN organisations o ON o.id = u.organisation_id
WHERE u.issuer = @issuer AND u.subject = @subject;

-- name: UpsertMember :one
-- Organisation first, then user, so that all writers lock in one order. An empty text means that the credential does
-- not say: what is stored stays.
WITH organisation AS (
    INSERT INTO organisations AS o (id, issuer, claim, personal, name)
    VALUES (@organisation_id, @issuer, @claim, @personal, @new_organisation_name)
    ON CONFLICT (issuer, personal, claim) DO UPDATE
        SET name = coalesce(nullif(@organisation_name::text, ''), o.name)
    RETURNING *
), member AS (
    INSERT INTO users AS u (id, organisation_id, issuer, subject, email, name)
    SELECT @user_id, organisation.id, @issuer, @subject, @email, @name FROM organisation
    ON CONFLICT (issuer, subject) DO UPDATE
        SET organisation_id = excluded.organisation_id,
            email = coalesce(nullif(excluded.email, ''), u.email),
            name = coalesce(nullif(excluded.name, ''), u.name)
    RETURNING *
)
SELECT member.id AS user_id, member.email, member.name, member.created_at,
       organisation.id AS organisation_id, organisation.name AS organisation_name, organisation.plan
FROM member, organisation;

-- name: LockPersonalOrganisation :exec
-- Taken before the user's row, as UpsertMember does.
SELECT o.id FROM organisations o JOIN users u ON u.organisation_id = o.id
WHERE u.id = @user_id AND o.personal FOR UPDATE OF o;

-- name: DeleteUser :one
DELETE FROM users WHERE id = @id RETURNING issuer, subject;

-- name: DeletePersonalOrganisation :exec
DELETE FROM organisations WHERE issuer = @issuer AND personal AND claim = @subject;

-- name: Organisation :one
SELECT o.id, o.name, o.plan, o.created_at,
       (SELECT count(*) FROM users u WHERE u.organisation_id = o.id) AS member_count
FROM organisations o WHERE o.id = @id;

-- name: SeedOrganisation :execrows
INSERT INTO organisations (id, issuer, claim, personal, name, plan)
VALUES (@id, @issuer, @claim, false, @name, @plan)
ON CONFLICT (issuer, personal, claim) DO NOTHING;

-- name: ForgetPerson :exec
INSERT INTO forgotten_people AS f (identity, user_id, organisation_id)
SELECT sha256(convert_to(u.issuer || ' ' || u.subject, 'UTF8')), u.id, u.organisation_id FROM users u WHERE u.id = @id
ON CONFLICT (identity) DO UPDATE SET user_id = excluded.user_id, organisation_id = excluded.organisation_id, forgotten_at = clock_timestamp();

-- name: PruneForgottenPeople :exec
-- A bounded batch; what another process is pruning is passed over.
DELETE FROM forgotten_people WHERE forgotten_people.identity IN (
    SELECT f.identity FROM forgotten_people f WHERE f.forgotten_at < clock_timestamp() - make_interval(secs => @seconds::float8)
    ORDER BY f.forgotten_at LIMIT 1000 FOR UPDATE SKIP LOCKED
);

-- name: ForgottenPerson :one
SELECT user_id, organisation_id FROM forgotten_people
WHERE identity = sha256(convert_to(@issuer::text || ' ' || @subject::text, 'UTF8'))
  AND forgotten_at >= clock_timestamp() - make_interval(secs => @seconds::float8);

-- name: LockIdentity :exec
-- Signing in and being removed take turns for one person, so that the one sees what the other has done.
SELECT pg_advisory_xact_lock(hashtextextended(@issuer::text || ' ' || @subject::text, 0));

-- name: UserIdentity :one
SELECT issuer, subject FROM users WHERE id = @id;

-- name: UserID :one
SELECT id FROM users WHERE issuer = @issuer AND subject = @subject;
