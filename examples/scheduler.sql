-- The store of examples/scheduler_postgres.py: jobs that have run, and the highest fence so far.
CREATE TABLE fence (one boolean PRIMARY KEY DEFAULT true CHECK (one), highest bigint NOT NULL);
INSERT INTO fence (highest) VALUES (0);
CREATE TABLE runs (place bigserial PRIMARY KEY, job bigint NOT NULL, fence bigint, name text);

-- Runs the next job for a leader with this fence; NULL if a later leader has been here. One
-- statement for the client, so a client that is stopped in the middle holds no lock.
CREATE FUNCTION run_job(mine bigint, by text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    ran bigint;
BEGIN
    -- Raised before anything is read; the row is locked until the end.
    UPDATE fence SET highest = mine WHERE highest <= mine;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO runs (job, fence, name)
    SELECT coalesce(max(job), 0) + 1, mine, by FROM runs RETURNING job INTO ran;
    RETURN ran;
END
$$;
