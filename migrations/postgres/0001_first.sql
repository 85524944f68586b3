-- Ids are uuids as text, times are milliseconds since 1970, documents are JSON as text: the same in every dialect.
-- Every text has the collation "C": it is compared byte by byte, as in SQLite, whatever the database's own collation is.

-- What specs say: each version is kept once, by the digest of its text and files.
CREATE TABLE specs (
    digest      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    text        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT  NOT NULL
);

-- Contents, each kept once.
CREATE TABLE blobs (
    digest      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    content     BYTEA   NOT NULL
);

-- The files beside a spec.
CREATE TABLE spec_files (
    spec        TEXT COLLATE "C" NOT NULL REFERENCES specs (digest) ON DELETE CASCADE,
    path        TEXT COLLATE "C" NOT NULL,
    executable  BOOLEAN NOT NULL,
    blob        TEXT COLLATE "C" NOT NULL REFERENCES blobs (digest)
);
-- A path may be longer than what an index can hold.
CREATE UNIQUE INDEX spec_files_path ON spec_files (spec, hashtextextended(path, 0));
CREATE INDEX spec_files_blob ON spec_files (blob);

-- The versions of a spec, by its id.
CREATE TABLE spec_versions (
    spec_id     TEXT COLLATE "C" NOT NULL,
    version     BIGINT  NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL REFERENCES specs (digest),
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (spec_id, version),
    UNIQUE (spec_id, digest)
);
CREATE INDEX spec_versions_digest ON spec_versions (digest);

-- Submissions of a spec.
CREATE TABLE experiments (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    spec_id     TEXT COLLATE "C" NOT NULL,
    version     BIGINT  NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL REFERENCES specs (digest),
    source      TEXT COLLATE "C" NOT NULL,
    seed        BIGINT  NOT NULL,
    settings    TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT  NOT NULL
);
CREATE INDEX experiments_created_at ON experiments (created_at, id);
CREATE INDEX experiments_digest ON experiments (digest);
CREATE INDEX experiments_spec ON experiments (spec_id, created_at);

-- Runs of an experiment. Running it again, or judging it again, makes a new number; older ones stay.
CREATE TABLE runs (
    experiment  TEXT COLLATE "C" NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
    number      BIGINT  NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL REFERENCES specs (digest),
    state       TEXT COLLATE "C" NOT NULL,
    lane        TEXT COLLATE "C" NOT NULL,
    total       BIGINT  NOT NULL,
    ended       BIGINT  NOT NULL,
    reason      TEXT COLLATE "C",
    verdict     TEXT COLLATE "C",
    score       TEXT COLLATE "C",
    created_at  BIGINT  NOT NULL,
    ended_at    BIGINT,
    PRIMARY KEY (experiment, number)
);
CREATE INDEX runs_state ON runs (state, lane);
CREATE INDEX runs_digest ON runs (digest);

-- Scenarios of a run: what was planned, and what came of it.
CREATE TABLE scenarios (
    experiment          TEXT COLLATE "C" NOT NULL,
    run                 BIGINT  NOT NULL,
    id                  TEXT COLLATE "C" NOT NULL,
    position            BIGINT  NOT NULL,
    plan                TEXT COLLATE "C" NOT NULL,
    status              TEXT COLLATE "C",
    composite           DOUBLE PRECISION,
    wall_ms             BIGINT,
    exit_code           BIGINT,
    error_kind          TEXT COLLATE "C",
    error_message       TEXT COLLATE "C",
    sandbox             TEXT COLLATE "C",
    forbidden           TEXT COLLATE "C",
    limits              TEXT COLLATE "C",
    offences            TEXT COLLATE "C",
    notes               TEXT COLLATE "C",
    tool_calls          BIGINT,
    tool_errors         BIGINT,
    model               TEXT COLLATE "C",
    calls               BIGINT,
    input_tokens        BIGINT,
    output_tokens       BIGINT,
    cache_read_tokens   BIGINT,
    cost_usd            DOUBLE PRECISION,
    evidence_job        TEXT COLLATE "C",
    evidence_attempt    BIGINT,
    ended_at            BIGINT,
    PRIMARY KEY (experiment, run, id),
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);

-- What judging says about each invariant of a scenario.
CREATE TABLE verdicts (
    experiment  TEXT COLLATE "C" NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT COLLATE "C" NOT NULL,
    position    BIGINT  NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    weight      DOUBLE PRECISION NOT NULL,
    gate        BOOLEAN NOT NULL,
    outcome     TEXT COLLATE "C" NOT NULL,
    error_kind  TEXT COLLATE "C",
    score       DOUBLE PRECISION NOT NULL,
    message     TEXT COLLATE "C" NOT NULL,
    reason      TEXT COLLATE "C" NOT NULL,
    details     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (experiment, run, scenario, position),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);

-- The queue: one job for each scenario.
CREATE TABLE jobs (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    experiment  TEXT COLLATE "C" NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    lane        TEXT COLLATE "C" NOT NULL,
    priority    BIGINT  NOT NULL,
    ready_at    BIGINT  NOT NULL,
    cpu_milli   BIGINT  NOT NULL,
    memory      BIGINT  NOT NULL,
    at_once     BIGINT,
    epoch       BIGINT  NOT NULL,
    failures    BIGINT  NOT NULL,
    cancelled   BOOLEAN NOT NULL,
    worker      TEXT COLLATE "C",
    token       TEXT COLLATE "C",
    lease_until BIGINT,
    UNIQUE (experiment, run, scenario),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
    -- Each job's row changes several times; what that leaves is removed before it slows claims down.
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
-- A claim takes the first row of this index, however many jobs have ended. The run is in it so that jobs of a run that is
-- busy are passed over without looking at their rows.
CREATE INDEX jobs_ready ON jobs (state, lane, priority DESC, ready_at, id, experiment, run);
-- When the next job of a lane is ready.
CREATE INDEX jobs_waiting ON jobs (state, lane, ready_at);
CREATE INDEX jobs_leases ON jobs (state, lease_until);

-- Tries of a job. A second one happens only when we failed.
CREATE TABLE attempts (
    job         TEXT COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number      BIGINT  NOT NULL,
    worker      TEXT COLLATE "C" NOT NULL,
    outcome     TEXT COLLATE "C" NOT NULL,
    message     TEXT COLLATE "C",
    started_at  BIGINT  NOT NULL,
    ended_at    BIGINT,
    digest      TEXT COLLATE "C",
    size        BIGINT,
    body        TEXT COLLATE "C",
    PRIMARY KEY (job, number)
);

-- What happened, in the order in which it was written down.
CREATE TABLE events (
    number      BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment  TEXT COLLATE "C" NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT COLLATE "C" NOT NULL,
    attempt     BIGINT  NOT NULL,
    at          BIGINT  NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    body        TEXT COLLATE "C" NOT NULL,
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);
CREATE INDEX events_run ON events (experiment, run, number);
