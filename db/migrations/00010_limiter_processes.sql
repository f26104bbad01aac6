-- +goose Up

-- The processes that run, and what each decides by: counters that several share mean something only while all count by
-- the same table and take the same addresses for proxies. Unlogged: each process writes its row anew every few seconds.
CREATE UNLOGGED TABLE limiter_processes (
    id       uuid        PRIMARY KEY,
    -- A hash of the settings: processes with the same one agree.
    hash     text        NOT NULL,
    -- By name, in words for the log.
    settings jsonb       NOT NULL,
    seen_at  timestamptz NOT NULL
);

-- +goose Down

DROP TABLE limiter_processes;
