-- The budgets that are counted in the database: their counters, and the functions that count. The number in a function's
-- name is its version. A build calls the functions it was made with, so two builds can run side by side.
--
-- Times are microseconds since 1970, by the database's own clock; a test may send another one. Keys are locked with
-- advisory locks, in order, and the clock is read when all are held: a refused call then writes nothing at all, needs no
-- row to lock and no transaction id.

-- +goose Up

-- Unlogged: nobody waits for the disk, and a crash of the database forgets a window of counters. The key has the only
-- index, so that the space of an old version of a row is used again at once (a heap-only update).
CREATE UNLOGGED TABLE limiter_counters (
    -- A keyed hash of whose counter it is and how it counts.
    key        bytea  PRIMARY KEY,
    -- Of a sliding window an entry a unit, the oldest first: 2048 × its time + 1024 if no receipt may name it + a mark
    -- that tells charges of one instant apart. Of a fixed window the time of its first hit, and its units.
    state      bigint[] NOT NULL,
    -- When the last unit leaves; the row can then be deleted.
    expires_at bigint NOT NULL
) WITH (fillfactor = 50);

-- What a counter says of one charge, and what it holds now: the entries that have not left.
CREATE TYPE limiter_judgement_1 AS (
    -- 0: does not fit, 1: fits, 2: the stored value is not a counter of this kind.
    status  bigint,
    used    bigint,
    next    bigint,
    retry   bigint,
    live    bigint[],
    -- The clock was set back since, and live was moved with it: to be stored even if nothing else is.
    stepped boolean
);

-- +goose StatementBegin
-- Waits at most wait_ms for the lock of each key. All callers take them in one order, so none can wait for each other.
CREATE FUNCTION limiter_lock_1(keys bytea[], wait_ms integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    id bigint;
BEGIN
    PERFORM set_config('lock_timeout', wait_ms::text, true);
    FOR id IN SELECT DISTINCT ('x' || encode(substr(k, 1, 8), 'hex'))::bit(64)::bigint FROM unnest(keys) AS k ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock(id);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION limiter_clock_1(clock bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce(clock, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- Whether the value is a counter of this kind (1: sliding window, 2: fixed window); an empty one is.
CREATE FUNCTION limiter_sound_1(kind integer, state bigint[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF state IS NULL THEN
        RETURN false;
    ELSIF state = '{}' THEN
        RETURN true;
    ELSIF array_ndims(state) <> 1 OR array_lower(state, 1) <> 1 OR array_position(state, NULL) IS NOT NULL THEN
        RETURN false;
    ELSIF kind = 2 THEN
        RETURN cardinality(state) = 2 AND state[1] >= 0 AND state[2] BETWEEN 0 AND 1000000000000;
    END IF;
    RETURN kind = 1 AND cardinality(state) <= 1024 AND NOT EXISTS (
        SELECT FROM unnest(state) WITH ORDINALITY AS e (entry, place)
        WHERE entry < 0 OR entry >> 11 < state[(place - 1)::integer] >> 11);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- A unit at t counts while t > instant − span. Entries that lie ahead of the clock were made before it was set back: they
-- are moved so that the newest is made now, and age on from here.
CREATE FUNCTION limiter_judge_log_1(state bigint[], n bigint, span bigint, cost bigint, instant bigint)
RETURNS limiter_judgement_1 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    j     limiter_judgement_1;
    size  integer := cardinality(state);
    ahead bigint  := greatest(0, (state[size] >> 11) - instant);
BEGIN
    j.stepped := ahead > 0;
    IF j.stepped THEN
        state := ARRAY(SELECT greatest(0, entry - (ahead << 11)) FROM unnest(state) WITH ORDINALITY AS e (entry, place) ORDER BY place);
    END IF;
    j.used := (SELECT count(*) FROM unnest(state) AS entry WHERE entry >> 11 > instant - span);
    j.live := state[size - j.used + 1 : size];
    IF j.used > 0 AND n > 0 THEN
        j.next := (j.live[(j.used - least(j.used, n) + 1)::integer] >> 11) + span - instant;
    END IF;
    IF cost > 0 AND cost > n - j.used THEN
        j.status := 0;
        IF cost <= n THEN
            j.retry := (j.live[(j.used + cost - n)::integer] >> 11) + span - instant;
        END IF;
    END IF;
    RETURN j;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION limiter_judge_fixed_1(state bigint[], n bigint, span bigint, cost bigint, instant bigint)
RETURNS limiter_judgement_1 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    j     limiter_judgement_1;
    began bigint := least(coalesce(state[1], instant), instant);
BEGIN
    j.used := coalesce(state[2], 0);
    IF j.used = 0 OR began + span <= instant THEN
        j.used := 0;
        began := instant;
    END IF;
    j.live := ARRAY[began, j.used];
    j.stepped := j.used > 0 AND state[1] > instant;
    IF j.used > 0 AND n > 0 THEN
        j.next := began + span - instant;
    END IF;
    IF cost > 0 AND cost > n - j.used THEN
        j.status := 0;
        IF cost <= n THEN
            j.retry := began + span - instant;
        END IF;
    END IF;
    RETURN j;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION limiter_judge_1(kind integer, state bigint[], n bigint, span bigint, cost bigint, instant bigint)
RETURNS limiter_judgement_1 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    j limiter_judgement_1;
BEGIN
    IF NOT limiter_sound_1(kind, state) THEN
        j := (2, n, 0, 0, '{}'::bigint[], false);
        RETURN j;
    ELSIF kind = 2 THEN
        j := limiter_judge_fixed_1(state, n, span, cost, instant);
    ELSE
        j := limiter_judge_log_1(state, n, span, cost, instant);
    END IF;
    j.status := coalesce(j.status, 1);
    j.next := coalesce(j.next, 0);
    j.retry := coalesce(j.retry, 0);
    RETURN j;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- Decides all charges at once: either every enforced one fits and all are recorded, or none is. The arrays have one
-- element a charge. The answer has five: status, units left, time until more are, time until it fits, receipt (0: not
-- recorded).
CREATE FUNCTION limiter_take_1(
    keys bytea[], kinds integer[], limits bigint[], spans bigint[], costs bigint[], shadows boolean[], wait_ms integer, clock bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    instant bigint;
    stored  bigint[];
    expires bigint;
    judged  limiter_judgement_1[];
    j       limiter_judgement_1;
    fits    boolean := true;
    newest  bigint;
    receipt bigint;
    answer  bigint[] := '{}';
BEGIN
    PERFORM limiter_lock_1(keys, wait_ms);
    instant := limiter_clock_1(clock);
    FOR i IN 1 .. cardinality(keys) LOOP
        SELECT state, expires_at INTO stored, expires FROM limiter_counters WHERE key = keys[i];
        IF NOT FOUND THEN
            stored := '{}';
        END IF;
        j := limiter_judge_1(kinds[i], stored, limits[i], spans[i], costs[i], instant);
        -- No row may stay for longer than its units do, however it came to be.
        j.stepped := j.stepped OR j.status <> 2 AND coalesce(expires > instant + spans[i], false);
        judged[i] := j;
        fits := fits AND (j.status <> 0 OR shadows[i]);
    END LOOP;
    FOR i IN 1 .. cardinality(keys) LOOP
        j := judged[i];
        receipt := 0;
        IF fits AND j.status = 1 AND costs[i] > 0 THEN
            IF kinds[i] = 2 THEN
                receipt := j.live[1];
                j.live[2] := j.used + costs[i];
            ELSE
                newest := j.live[j.used::integer];
                receipt := instant << 11;
                IF newest >> 11 = instant THEN
                    receipt := receipt | ((newest + 1) & 1023);
                END IF;
                j.live := j.live || array_fill(receipt, ARRAY[costs[i]::integer]);
            END IF;
            IF j.used = 0 THEN
                j.next := spans[i];
            END IF;
            j.used := j.used + costs[i];
        END IF;
        IF receipt <> 0 OR j.stepped THEN
            INSERT INTO limiter_counters AS c (key, state, expires_at)
            VALUES (keys[i], j.live, CASE kinds[i] WHEN 2 THEN j.live[1] ELSE instant END + spans[i])
            ON CONFLICT (key) DO UPDATE SET state = excluded.state, expires_at = excluded.expires_at;
        END IF;
        answer := answer || ARRAY[j.status, greatest(0, limits[i] - j.used), j.next, j.retry, receipt];
    END LOOP;
    RETURN answer;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- Takes units out of what the receipts name, and says how many: 0 where nothing of a receipt is left to give. What stays
-- of a sliding window's charge is named by no receipt any more.
CREATE FUNCTION limiter_give_back_1(
    keys bytea[], kinds integer[], spans bigint[], receipts bigint[], units bigint[], wait_ms integer, clock bigint
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    instant bigint;
    stored  bigint[];
    given   bigint;
    answer  bigint[] := '{}';
BEGIN
    PERFORM limiter_lock_1(keys, wait_ms);
    instant := limiter_clock_1(clock);
    FOR i IN 1 .. cardinality(keys) LOOP
        given := 0;
        SELECT state INTO stored FROM limiter_counters WHERE key = keys[i];
        IF NOT FOUND OR NOT limiter_sound_1(kinds[i], stored) THEN
            NULL;
        ELSIF kinds[i] = 2 THEN
            IF stored[1] = receipts[i] AND stored[1] > instant - spans[i] THEN
                given := least(units[i], stored[2]);
                stored[2] := stored[2] - given;
            END IF;
        ELSIF receipts[i] >> 11 > greatest(instant, stored[cardinality(stored)] >> 11) - spans[i] THEN
            given := least(units[i], cardinality(array_positions(stored, receipts[i])));
            stored := ARRAY(
                SELECT CASE entry WHEN receipts[i] THEN entry | 1024 ELSE entry END
                FROM (
                    SELECT entry, place, row_number() OVER (PARTITION BY entry ORDER BY place) AS nth
                    FROM unnest(stored) WITH ORDINALITY AS u (entry, place)
                ) AS e
                WHERE entry <> receipts[i] OR nth > given
                ORDER BY place);
        END IF;
        IF given > 0 THEN
            UPDATE limiter_counters SET state = stored WHERE key = keys[i];
        END IF;
        answer := answer || given;
    END LOOP;
    RETURN answer;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION limiter_reset_1(keys bytea[], wait_ms integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM limiter_lock_1(keys, wait_ms);
    DELETE FROM limiter_counters WHERE key = ANY (keys);
END
$$;
-- +goose StatementEnd

-- +goose Down

DROP FUNCTION limiter_reset_1, limiter_give_back_1, limiter_take_1, limiter_judge_1, limiter_judge_fixed_1, limiter_judge_log_1,
    limiter_sound_1, limiter_clock_1, limiter_lock_1;
DROP TYPE limiter_judgement_1;
DROP TABLE limiter_counters;
