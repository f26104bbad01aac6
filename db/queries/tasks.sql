-- name: ListTasks :many
-- The page after (before_at, before_id). The first page asks from a time beyond all others, so one plan serves both.
SELECT * FROM tasks
WHERE organisation_id = @organisation_id
  AND (created_at, id) < (@before_at::timestamptz, @before_id::uuid)
ORDER BY created_at DESC, id DESC LIMIT @page_size;

-- name: ListTasksByDone :many
SELECT * FROM tasks
WHERE organisation_id = @organisation_id AND done = @done
  AND (created_at, id) < (@before_at::timestamptz, @before_id::uuid)
ORDER BY created_at DESC, id DESC LIMIT @page_size;

-- name: Task :one
SELECT * FROM tasks WHERE organisation_id = @organisation_id AND id = @id;

-- name: CreateTask :one
INSERT INTO tasks (id, organisation_id, title, notes, due_at, priority, tags, done, created_by)
VALUES (@id, @organisation_id, @title, @notes, sqlc.narg(due_at), @priority, @tags, @done, sqlc.narg(created_by))
RETURNING *;

-- name: UpdateTask :one
-- NULL keeps a column; the due date, which may itself become NULL, has a flag.
UPDATE tasks SET
    title      = coalesce(sqlc.narg(title), title),
    notes      = coalesce(sqlc.narg(notes), notes),
    due_at     = CASE WHEN @set_due_at::boolean THEN sqlc.narg(due_at)::timestamptz ELSE due_at END,
    priority   = coalesce(sqlc.narg(priority), priority),
    tags       = coalesce(sqlc.narg(tags)::text[], tags),
    done       = coalesce(sqlc.narg(done), done),
    updated_at = now()
WHERE organisation_id = @organisation_id AND id = @id
RETURNING *;

-- name: DeleteTask :execrows
DELETE FROM tasks WHERE organisation_id = @organisation_id AND id = @id;

-- name: CreateReport :one
-- No row when the task is not this organisation's.
INSERT INTO reports (id, organisation_id, task_id, reported_by, reason)
SELECT @id, t.organisation_id, t.id, @reported_by, @reason FROM tasks t
WHERE t.organisation_id = @organisation_id AND t.id = @task_id
RETURNING id, task_id, reason, created_at;

-- name: ListReports :many
SELECT sqlc.embed(r), o.name AS organisation_name, t.title AS task_title, u.name AS reporter_name, u.email AS reporter_email
FROM reports r JOIN organisations o ON o.id = r.organisation_id
LEFT JOIN tasks t ON t.id = r.task_id LEFT JOIN users u ON u.id = r.reported_by
WHERE (r.created_at, r.id) < (@before_at::timestamptz, @before_id::uuid)
ORDER BY r.created_at DESC, r.id DESC LIMIT @page_size;
