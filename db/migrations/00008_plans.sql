-- What organisations may be on, what changes their budgets, and what administrators did.

-- +goose Up

CREATE TABLE plans (
    name text    PRIMARY KEY,
    -- The order in which plans are shown, smallest first.
    rank integer NOT NULL CONSTRAINT plans_rank UNIQUE
);

-- A plan's own numbers. A budget without a row stays as the deployment has it.
CREATE TABLE plan_budgets (
    plan      text   NOT NULL REFERENCES plans ON DELETE CASCADE,
    budget    text   NOT NULL,
    allowance bigint NOT NULL CONSTRAINT plan_budgets_allowance CHECK (allowance >= 0),
    -- Units a second, of a token bucket.
    refill    bigint CONSTRAINT plan_budgets_refill CHECK (refill >= 1),
    PRIMARY KEY (plan, budget)
);

INSERT INTO plans (name, rank) VALUES ('free', 0), ('team', 1), ('enterprise', 2);

-- The free plan is the table of budgets itself, so it has no rows.
INSERT INTO plan_budgets (plan, budget, allowance, refill) VALUES
    ('team', 'user', 300, NULL),
    ('team', 'org', 3000, 50),
    ('team', 'tasks.write', 90, NULL),
    ('team', 'tasks.parse', 30, NULL),
    ('team', 'tasks.parse.burst', 5, NULL),
    ('team', 'ai.tokens', 200000, NULL),
    ('team', 'tasks.export', 15, NULL),
    ('team', 'reports.create', 30, NULL),
    ('enterprise', 'user', 1000, NULL),
    ('enterprise', 'org', 12000, 200),
    ('enterprise', 'tasks.write', 300, NULL),
    ('enterprise', 'tasks.parse', 120, NULL),
    ('enterprise', 'tasks.parse.burst', 10, NULL),
    ('enterprise', 'ai.tokens', 2000000, NULL),
    ('enterprise', 'tasks.export', 60, NULL),
    ('enterprise', 'reports.create', 60, NULL);

-- The plans are rows now, so that a deployment can have others.
ALTER TABLE organisations
    DROP CONSTRAINT organisations_plan_known,
    ADD CONSTRAINT organisations_plan FOREIGN KEY (plan) REFERENCES plans (name);

CREATE INDEX organisations_by_plan ON organisations (plan);
CREATE INDEX organisations_newest ON organisations (created_at DESC, id DESC);

CREATE TABLE overrides (
    -- New at each change, so that a list pages by it.
    id         uuid           PRIMARY KEY,
    scope      text           NOT NULL
        CONSTRAINT overrides_scope_known CHECK (scope IN ('plan', 'organisation', 'user')),
    -- A plan's name, or the id of an organisation or a user. No foreign key: who removes themselves and comes back must
    -- not have shaken off what was set for them.
    subject    text           NOT NULL,
    budget     text           NOT NULL,
    -- NULL is unlimited.
    allowance  bigint         CONSTRAINT overrides_allowance CHECK (allowance >= 0),
    -- NULL for these two leaves what the weaker sources say.
    refill     bigint         CONSTRAINT overrides_refill CHECK (refill >= 1),
    enforce    boolean,
    -- NULL is never.
    expires_at timestamptz(3),
    reason     text           NOT NULL,
    -- The id stays when the person's data is removed.
    author     uuid           NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now(),
    CONSTRAINT overrides_target UNIQUE (scope, subject, budget)
);

CREATE INDEX overrides_newest ON overrides (created_at DESC, id DESC);

CREATE TABLE audit (
    id         uuid           PRIMARY KEY,
    at         timestamptz(3) NOT NULL DEFAULT now(),
    -- The id stays when the person's data is removed: an administrator cannot leave the audit by removing themselves.
    actor      uuid           NOT NULL,
    -- The id of the route.
    action     text           NOT NULL,
    target     text           NOT NULL,
    before     jsonb,
    after      jsonb,
    reason     text           NOT NULL,
    request_id text           NOT NULL
);

CREATE INDEX audit_newest ON audit (at DESC, id DESC);

-- +goose Down

DROP TABLE audit;
DROP TABLE overrides;
DROP INDEX organisations_newest;
DROP INDEX organisations_by_plan;
ALTER TABLE organisations
    DROP CONSTRAINT organisations_plan,
    ADD CONSTRAINT organisations_plan_known CHECK (plan IN ('free', 'team', 'enterprise'));
DROP TABLE plan_budgets;
DROP TABLE plans;
