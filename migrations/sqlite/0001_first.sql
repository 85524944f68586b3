-- Ids are uuids as text, times are milliseconds since 1970, documents are JSON as text: the same in every dialect.

-- What specs say: each version is kept once, by the digest of its text and files.
CREATE TABLE specs (
    digest      TEXT    NOT NULL PRIMARY KEY,
    text        TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL
);

-- The files beside a spec.
CREATE TABLE spec_files (
    spec        TEXT    NOT NULL REFERENCES specs (digest) ON DELETE CASCADE,
    path        TEXT    NOT NULL,
    executable  BOOLEAN NOT NULL,
    blob        TEXT    NOT NULL REFERENCES blobs (digest),
    PRIMARY KEY (spec, path)
);
CREATE INDEX spec_files_blob ON spec_files (blob);

-- Contents, each kept once.
CREATE TABLE blobs (
    digest      TEXT    NOT NULL PRIMARY KEY,
    content     BLOB    NOT NULL
);

-- The versions of a spec, by its id.
CREATE TABLE spec_versions (
    spec_id     TEXT    NOT NULL,
    version     BIGINT  NOT NULL,
    digest      TEXT    NOT NULL REFERENCES specs (digest),
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (spec_id, version),
    UNIQUE (spec_id, digest)
);
CREATE INDEX spec_versions_digest ON spec_versions (digest);

-- Submissions of a spec.
CREATE TABLE experiments (
    id          TEXT    NOT NULL PRIMARY KEY,
    spec_id     TEXT    NOT NULL,
    version     BIGINT  NOT NULL,
    digest      TEXT    NOT NULL REFERENCES specs (digest),
    source      TEXT    NOT NULL,
    seed        BIGINT  NOT NULL,
    settings    TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL
);
CREATE INDEX experiments_created_at ON experiments (created_at, id);
CREATE INDEX experiments_digest ON experiments (digest);
CREATE INDEX experiments_spec ON experiments (spec_id, created_at);

-- Runs of an experiment. Running it again, or judging it again, makes a new number; older ones stay.
CREATE TABLE runs (
    experiment  TEXT    NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
    number      BIGINT  NOT NULL,
    kind        TEXT    NOT NULL,
    digest      TEXT    NOT NULL REFERENCES specs (digest),
    state       TEXT    NOT NULL,
    lane        TEXT    NOT NULL,
    total       BIGINT  NOT NULL,
    ended       BIGINT  NOT NULL,
    reason      TEXT,
    verdict     TEXT,
    score       TEXT,
    created_at  BIGINT  NOT NULL,
    ended_at    BIGINT,
    PRIMARY KEY (experiment, number)
);
CREATE INDEX runs_state ON runs (state, lane);
CREATE INDEX runs_digest ON runs (digest);

-- Scenarios of a run: what was planned, and what came of it.
CREATE TABLE scenarios (
    experiment          TEXT    NOT NULL,
    run                 BIGINT  NOT NULL,
    id                  TEXT    NOT NULL,
    position            BIGINT  NOT NULL,
    plan                TEXT    NOT NULL,
    status              TEXT,
    composite           DOUBLE PRECISION,
    wall_ms             BIGINT,
    exit_code           BIGINT,
    error_kind          TEXT,
    error_message       TEXT,
    sandbox             TEXT,
    forbidden           TEXT,
    limits              TEXT,
    offences            TEXT,
    notes               TEXT,
    tool_calls          BIGINT,
    tool_errors         BIGINT,
    model               TEXT,
    calls               BIGINT,
    input_tokens        BIGINT,
    output_tokens       BIGINT,
    cache_read_tokens   BIGINT,
    cost_usd            DOUBLE PRECISION,
    evidence_job        TEXT,
    evidence_attempt    BIGINT,
    ended_at            BIGINT,
    PRIMARY KEY (experiment, run, id),
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);

-- What judging says about each invariant of a scenario.
CREATE TABLE verdicts (
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT    NOT NULL,
    position    BIGINT  NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    weight      DOUBLE PRECISION NOT NULL,
    gate        BOOLEAN NOT NULL,
    outcome     TEXT    NOT NULL,
    error_kind  TEXT,
    score       DOUBLE PRECISION NOT NULL,
    message     TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    details     TEXT    NOT NULL,
    PRIMARY KEY (experiment, run, scenario, position),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);

-- The queue: one job for each scenario.
CREATE TABLE jobs (
    id          TEXT    NOT NULL PRIMARY KEY,
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    lane        TEXT    NOT NULL,
    priority    BIGINT  NOT NULL,
    ready_at    BIGINT  NOT NULL,
    cpu_milli   BIGINT  NOT NULL,
    memory      BIGINT  NOT NULL,
    at_once     BIGINT,
    epoch       BIGINT  NOT NULL,
    failures    BIGINT  NOT NULL,
    cancelled   BOOLEAN NOT NULL,
    worker      TEXT,
    token       TEXT,
    lease_until BIGINT,
    UNIQUE (experiment, run, scenario),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);
-- A claim takes the first row of this index, however many jobs have ended. The run is in it so that jobs of a run that is
-- busy are passed over without looking at their rows.
CREATE INDEX jobs_ready ON jobs (state, lane, priority DESC, ready_at, id, experiment, run);
-- When the next job of a lane is ready.
CREATE INDEX jobs_waiting ON jobs (state, lane, ready_at);
CREATE INDEX jobs_leases ON jobs (state, lease_until);

-- Tries of a job. A second one happens only when we failed.
CREATE TABLE attempts (
    job         TEXT    NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number      BIGINT  NOT NULL,
    worker      TEXT    NOT NULL,
    outcome     TEXT    NOT NULL,
    message     TEXT,
    started_at  BIGINT  NOT NULL,
    ended_at    BIGINT,
    digest      TEXT,
    size        BIGINT,
    body        TEXT,
    PRIMARY KEY (job, number)
);

-- What happened, in the order in which it was written down.
CREATE TABLE events (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT    NOT NULL,
    attempt     BIGINT  NOT NULL,
    at          BIGINT  NOT NULL,
    kind        TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);
CREATE INDEX events_run ON events (experiment, run, number);
