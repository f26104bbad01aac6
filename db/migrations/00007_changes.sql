-- What processes tell each other through the database, and what was revoked.

-- +goose Up

-- One row a change that every process must hear of, written in the transaction that made it. The order in which
-- transactions commit is neither that of ids nor that of times, so a reader remembers which transactions it has seen
-- (a snapshot) and never misses one that began early and committed late. Rows are pruned after an hour.
CREATE TABLE changes (
    transaction xid8           NOT NULL DEFAULT pg_current_xact_id(),
    id          bigint         NOT NULL GENERATED ALWAYS AS IDENTITY,
    kind        text           NOT NULL,
    subject     text           NOT NULL,
    at          timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (transaction, id)
);

CREATE INDEX changes_age ON changes (at);

-- What is refused although its signature is good: a token by its jti, the tokens of an issuer's session by their sid,
-- and those of a user that were issued up to a moment. The key is SHA-256 of the issuer, a space and that id.
CREATE TABLE revocations (
    kind       text           NOT NULL
        CONSTRAINT revocations_kind_known CHECK (kind IN ('user', 'session', 'token')),
    key        bytea          NOT NULL,
    -- NULL for somebody who was never here. No foreign key: a revocation outlives its user.
    user_id    uuid,
    at         timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
    -- When no token that it refuses can be valid any more.
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (kind, key)
);

CREATE INDEX revocations_expiry ON revocations (expires_at);

-- The issuer's logout tokens that were obeyed, by SHA-256 of issuer and jti, for as long as one could be sent again.
CREATE TABLE logout_tokens (
    key        bytea          PRIMARY KEY,
    expires_at timestamptz(3) NOT NULL
);

CREATE INDEX logout_tokens_expiry ON logout_tokens (expires_at);

-- A back-channel logout names the issuer's session.
CREATE INDEX sessions_sid ON sessions (sid) WHERE sid <> '';

-- What the sign-in was charged, to be given back by whichever process ends it.
ALTER TABLE logins ADD COLUMN charge bytea NOT NULL DEFAULT '';

-- +goose Down

ALTER TABLE logins DROP COLUMN charge;
DROP INDEX sessions_sid;
DROP TABLE logout_tokens;
DROP TABLE revocations;
DROP TABLE changes;
