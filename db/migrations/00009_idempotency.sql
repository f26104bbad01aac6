-- +goose Up

-- The answers that are kept for whoever sends the same request again, and the requests that are at work. An answer is
-- written in the transaction of what it tells of, so there is never the one without the other.
CREATE TABLE idempotency_keys (
    -- Who was forgotten is forgotten here too.
    user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    route        text        NOT NULL,
    key          text        NOT NULL,
    -- A hash of the request, which tells the same request from another one.
    fingerprint  bytea       NOT NULL,
    -- The request that is at work or was. Only it may write the answer: if it was given up on and comes back late, its
    -- transaction finds another claim and is undone.
    claim        uuid        NOT NULL,
    -- NULL while the request is at work.
    status       integer,
    location     text        NOT NULL DEFAULT '',
    content_type text        NOT NULL DEFAULT '',
    body         bytea       NOT NULL DEFAULT '',
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (user_id, route, key)
);

CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- +goose Down

DROP TABLE idempotency_keys;
