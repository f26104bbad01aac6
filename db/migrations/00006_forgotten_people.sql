-- +goose Up

-- Who asked to be forgotten, for as long as a budget's window may last: whoever signs in again within it gets the id
-- back, and so the budgets that they had spent. Otherwise removing oneself would be the way to fresh budgets. The
-- identity is a hash, and the row goes when it has served.
CREATE TABLE forgotten_people (
    identity        bytea PRIMARY KEY,
    user_id         uuid NOT NULL,
    organisation_id uuid NOT NULL,
    forgotten_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- +goose Down

DROP TABLE forgotten_people;
