-- name: Secret :one
SELECT value FROM secrets WHERE name = @name;

-- name: AddSecret :exec
INSERT INTO secrets (name, value) VALUES (@name, @value) ON CONFLICT (name) DO NOTHING;
