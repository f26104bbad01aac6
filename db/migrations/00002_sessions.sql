-- Signing in on the web: a login under way, and the session that it ends in. Only hashes of tokens are stored, so a
-- copy of the database opens nothing.

-- +goose Up

CREATE TABLE logins (
    state_hash bytea          PRIMARY KEY,
    verifier   text           NOT NULL,
    nonce      text           NOT NULL,
    return_to  text           NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    expires_at timestamptz(3) NOT NULL
);

CREATE INDEX logins_expiry ON logins (expires_at);

CREATE TABLE sessions (
    id             uuid           PRIMARY KEY,
    user_id        uuid           NOT NULL REFERENCES users ON DELETE CASCADE,
    token_hash     bytea          NOT NULL,
    -- The token before the last rotation, still good until previous_until: another tab may be using it.
    previous_hash  bytea,
    previous_until timestamptz(3),
    roles          text[]         NOT NULL,
    roles_at       timestamptz(3) NOT NULL,
    -- The issuer's own id of its session and the ID token: what its end-session endpoint asks for.
    sid            text           NOT NULL,
    id_token       text           NOT NULL,
    created_at     timestamptz(3) NOT NULL DEFAULT now(),
    -- When somebody last used it, kept to the minute. The idle time is a setting, so it is not stored: lowering it works at once.
    seen_at        timestamptz(3) NOT NULL DEFAULT now(),
    expires_at     timestamptz(3) NOT NULL,
    CONSTRAINT sessions_token UNIQUE (token_hash),
    CONSTRAINT sessions_previous_token UNIQUE (previous_hash)
);

CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- +goose Down

DROP TABLE sessions;
DROP TABLE logins;
