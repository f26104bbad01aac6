-- The domain: tasks that belong to an organisation, and reports about them.

-- +goose Up

CREATE TABLE tasks (
    id              uuid           PRIMARY KEY,
    organisation_id uuid           NOT NULL REFERENCES organisations ON DELETE CASCADE,
    title           text           NOT NULL,
    notes           text           NOT NULL,
    due_at          timestamptz(3),
    priority        text           NOT NULL
        CONSTRAINT tasks_priority_known CHECK (priority IN ('none', 'low', 'medium', 'high')),
    tags            text[]         NOT NULL,
    done            boolean        NOT NULL,
    -- NULL once its author has deleted their account: the task is the organisation's.
    created_by      uuid           REFERENCES users ON DELETE SET NULL,
    created_at      timestamptz(3) NOT NULL DEFAULT now(),
    updated_at      timestamptz(3) NOT NULL DEFAULT now()
);

-- Lists are newest first and page by (created_at, id); one index with and one without the filter by done.
CREATE INDEX tasks_newest ON tasks (organisation_id, created_at DESC, id DESC);
CREATE INDEX tasks_newest_by_done ON tasks (organisation_id, done, created_at DESC, id DESC);
CREATE INDEX tasks_author ON tasks (created_by);

CREATE TABLE reports (
    id              uuid           PRIMARY KEY,
    organisation_id uuid           NOT NULL REFERENCES organisations ON DELETE CASCADE,
    -- No foreign key: who deletes a task must not delete the reports about it.
    task_id         uuid           NOT NULL,
    reported_by     uuid           REFERENCES users ON DELETE SET NULL,
    reason          text           NOT NULL,
    created_at      timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX reports_newest ON reports (created_at DESC, id DESC);
CREATE INDEX reports_organisation ON reports (organisation_id);
CREATE INDEX reports_author ON reports (reported_by);

-- +goose Down

DROP TABLE reports;
DROP TABLE tasks;
