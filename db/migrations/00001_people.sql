-- Organisations, the people in them, and the secrets that every process of a deployment shares.
-- Times are kept to the millisecond, which is what the contract shows; ids are UUIDv7 made by the server.

-- +goose Up

CREATE TABLE organisations (
    id         uuid           PRIMARY KEY,
    issuer     text           NOT NULL,
    -- The issuer's immutable id of the organisation; for a personal one its owner's subject.
    claim      text           NOT NULL,
    personal   boolean        NOT NULL,
    name       text           NOT NULL,
    plan       text           NOT NULL DEFAULT 'free'
        CONSTRAINT organisations_plan_known CHECK (plan IN ('free', 'team', 'enterprise')),
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    -- Personal is part of the key: an issuer whose organisation is called like somebody's subject joins nobody's own.
    CONSTRAINT organisations_identity UNIQUE (issuer, personal, claim)
);

CREATE TABLE users (
    id              uuid           PRIMARY KEY,
    organisation_id uuid           NOT NULL REFERENCES organisations ON DELETE CASCADE,
    issuer          text           NOT NULL,
    subject         text           NOT NULL,
    email           text           NOT NULL,
    name            text           NOT NULL,
    created_at      timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT users_identity UNIQUE (issuer, subject)
);

CREATE INDEX users_organisation ON users (organisation_id);

CREATE TABLE secrets (
    name       text           PRIMARY KEY,
    value      bytea          NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now()
);

-- +goose Down

DROP TABLE secrets;
DROP TABLE users;
DROP TABLE organisations;
