-- What the development issuer remembers. It lies in the database so that any replica can serve it and a restart
-- invalidates nobody's token. Production never writes here.

-- +goose Up

CREATE TABLE idp_keys (
    id         uuid           PRIMARY KEY,
    key        bytea          NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE idp_grants (
    kind       text           NOT NULL,
    hash       bytea          NOT NULL,
    -- All that came from one sign-in: the code and every refresh token after it. Reuse of one revokes them all.
    family     uuid           NOT NULL,
    payload    jsonb          NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    expires_at timestamptz(3) NOT NULL,
    used_at    timestamptz(3),
    revoked_at timestamptz(3),
    PRIMARY KEY (kind, hash)
);

CREATE INDEX idp_grants_family ON idp_grants (family);
CREATE INDEX idp_grants_expiry ON idp_grants (expires_at);

-- +goose Down

DROP TABLE idp_grants;
DROP TABLE idp_keys;
