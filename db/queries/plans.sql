-- name: ListPlans :many
-- The page after a rank.
SELECT p.name, p.rank, (SELECT count(*) FROM organisations o WHERE o.plan = p.name) AS organisations
FROM plans p WHERE p.rank > @after_rank ORDER BY p.rank LIMIT @page_size;

-- name: PlanNames :many
SELECT name FROM plans ORDER BY rank;

-- name: BudgetsOfPlans :many
SELECT * FROM plan_budgets WHERE plan = ANY(@plans::text[]) ORDER BY plan, budget;

-- name: ListOrganisations :many
SELECT o.id, o.name, o.plan, o.created_at,
       (SELECT count(*) FROM users u WHERE u.organisation_id = o.id) AS member_count
FROM organisations o
WHERE (o.created_at, o.id) < (@before_at::timestamptz, @before_id::uuid)
ORDER BY o.created_at DESC, o.id DESC LIMIT @page_size;

-- name: LockPlanOf :one
SELECT plan FROM organisations WHERE id = @id FOR UPDATE;

-- name: SetPlan :execrows
UPDATE organisations SET plan = @plan WHERE id = @id;

-- name: MemberByID :one
SELECT sqlc.embed(u), sqlc.embed(o)
FROM users u JOIN organisations o ON o.id = u.organisation_id
WHERE u.id = @id;

-- name: NamesOf :many
-- What people read in place of the ids of users, organisations and sessions.
SELECT u.id, u.name FROM users u WHERE u.id = ANY(@ids::uuid[])
UNION ALL
SELECT o.id, o.name FROM organisations o WHERE o.id = ANY(@ids::uuid[])
UNION ALL
SELECT s.id, u.name FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ANY(@ids::uuid[]);

-- name: MemberBySession :one
SELECT sqlc.embed(u), sqlc.embed(o)
FROM sessions s JOIN users u ON u.id = s.user_id JOIN organisations o ON o.id = u.organisation_id
WHERE s.id = @id;

-- name: AllowancesOf :many
-- What changes the budgets of one plan, organisation or user now: the plan's own numbers first, overrides behind them.
-- How long one still counts is said as a span, so that the reader's clock need not agree with the database's.
SELECT false AS is_override, b.budget, b.allowance::bigint AS allowance, false AS unlimited,
       b.refill, NULL::boolean AS enforce, NULL::float8 AS seconds_left
FROM plan_budgets b WHERE @scope::text = 'plan' AND b.plan = @subject::text
UNION ALL
SELECT true, o.budget, coalesce(o.allowance, 0), o.allowance IS NULL,
       o.refill, o.enforce, extract(epoch FROM o.expires_at - clock_timestamp())::float8
FROM overrides o
WHERE o.scope = @scope::text AND o.subject = @subject::text AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp())
ORDER BY 1;

-- name: LockOverride :one
SELECT * FROM overrides WHERE scope = @scope AND subject = @subject AND budget = @budget FOR UPDATE;

-- name: PutOverride :one
INSERT INTO overrides (id, scope, subject, budget, allowance, refill, enforce, expires_at, reason, author)
VALUES (@id, @scope, @subject, @budget, sqlc.narg(allowance), sqlc.narg(refill), sqlc.narg(enforce), sqlc.narg(expires_at), @reason, @author)
ON CONFLICT (scope, subject, budget) DO UPDATE SET
    id = excluded.id, allowance = excluded.allowance, refill = excluded.refill, enforce = excluded.enforce,
    expires_at = excluded.expires_at, reason = excluded.reason, author = excluded.author, created_at = now()
RETURNING *;

-- name: DeleteOverride :exec
DELETE FROM overrides WHERE scope = @scope AND subject = @subject AND budget = @budget;

-- name: ListOverrides :many
-- An empty scope or subject stands for all.
SELECT sqlc.embed(o), coalesce(o.expires_at <= now(), false)::boolean AS expired,
       coalesce(a.name, '') AS author_name, coalesce(a.email, '') AS author_email,
       coalesce(CASE o.scope
           WHEN 'plan' THEN o.subject
           WHEN 'organisation' THEN (SELECT g.name FROM organisations g WHERE g.id = o.subject::uuid)
           ELSE (SELECT u.name FROM users u WHERE u.id = o.subject::uuid)
       END, '')::text AS subject_name
FROM overrides o LEFT JOIN users a ON a.id = o.author
WHERE (o.created_at, o.id) < (@before_at::timestamptz, @before_id::uuid)
  AND (@scope::text = '' OR o.scope = @scope::text) AND (@subject::text = '' OR o.subject = @subject::text)
ORDER BY o.created_at DESC, o.id DESC LIMIT @page_size;

-- name: WriteAudit :exec
INSERT INTO audit (id, actor, action, target, before, after, reason, request_id)
VALUES (@id, @actor, @action, @target, sqlc.narg(before), sqlc.narg(after), @reason, @request_id);

-- name: EndAct :execrows
UPDATE audit SET after = @after WHERE id = @id;

-- name: PruneAudit :exec
DELETE FROM audit WHERE audit.id IN (
    SELECT e.id FROM audit e WHERE e.at < now() - @keep_for::interval ORDER BY e.at LIMIT 1000 FOR UPDATE SKIP LOCKED
);

-- name: ListAudit :many
SELECT sqlc.embed(e), coalesce(a.name, '') AS actor_name, coalesce(a.email, '') AS actor_email
FROM audit e LEFT JOIN users a ON a.id = e.actor
WHERE (e.at, e.id) < (@before_at::timestamptz, @before_id::uuid)
ORDER BY e.at DESC, e.id DESC LIMIT @page_size;
