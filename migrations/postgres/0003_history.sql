-- What pages with many experiments read: numbers beside whole scores, and tags beside texts.

-- The numbers of a run that ended, each by itself; NULL before its end.
ALTER TABLE runs ADD COLUMN passed BIGINT;
ALTER TABLE runs ADD COLUMN failed BIGINT;
ALTER TABLE runs ADD COLUMN flaky BIGINT;
ALTER TABLE runs ADD COLUMN errors BIGINT;
ALTER TABLE runs ADD COLUMN composite DOUBLE PRECISION;
ALTER TABLE runs ADD COLUMN cost_usd DOUBLE PRECISION;
ALTER TABLE runs ADD COLUMN wall_ms BIGINT;
UPDATE runs SET
    passed = (score::jsonb ->> 'passed')::bigint,
    failed = (score::jsonb ->> 'failed')::bigint,
    flaky = (score::jsonb ->> 'flaky')::bigint,
    errors = (score::jsonb ->> 'errors')::bigint,
    composite = (score::jsonb #>> '{metrics,mean_composite}')::double precision,
    cost_usd = (score::jsonb #>> '{metrics,total_cost_usd}')::double precision,
    wall_ms = (score::jsonb #>> '{metrics,mean_wall_ms}')::bigint
    WHERE score IS NOT NULL;
-- Runs with one verdict, of which there may be few among many.
CREATE INDEX runs_verdict ON runs (verdict, experiment);

-- The tags of specs, by the digest of what they say.
CREATE TABLE spec_tags (
    tag         TEXT COLLATE "C" NOT NULL,
    spec        TEXT COLLATE "C" NOT NULL REFERENCES specs (digest) ON DELETE CASCADE,
    PRIMARY KEY (tag, spec)
);
CREATE INDEX spec_tags_spec ON spec_tags (spec);

-- What happened in one scenario, however many others its run has.
CREATE INDEX events_scenario ON events (experiment, run, scenario, number);
