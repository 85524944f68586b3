-- What the server keeps besides what runs keep. Rows that people make have an owner; '' is this machine's own.

-- Single values that belong to the whole database.
CREATE TABLE settings (
    name        TEXT    NOT NULL PRIMARY KEY,
    value       TEXT    NOT NULL
);

-- The last number that was given to something with this name; a number is given once, even if its row is removed.
CREATE TABLE counters (
    kind        TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    last        BIGINT  NOT NULL,
    PRIMARY KEY (kind, owner, name)
);
INSERT INTO counters (kind, owner, name, last)
    SELECT 'spec', '', spec_id, max(version) FROM spec_versions GROUP BY spec_id;

-- The versions of a spec, now of an owner. Who goes back to what an older one said makes a new version.
CREATE TABLE owned_spec_versions (
    owner       TEXT    NOT NULL,
    spec_id     TEXT    NOT NULL,
    version     BIGINT  NOT NULL,
    digest      TEXT    NOT NULL REFERENCES specs (digest),
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (owner, spec_id, version)
);
INSERT INTO owned_spec_versions (owner, spec_id, version, digest, created_at)
    SELECT '', spec_id, version, digest, created_at FROM spec_versions;
DROP TABLE spec_versions;
ALTER TABLE owned_spec_versions RENAME TO spec_versions;
CREATE INDEX spec_versions_digest ON spec_versions (digest);

-- Submissions get an owner, a name for people, and may be kept from removal.
ALTER TABLE experiments ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX experiments_owner ON experiments (owner, created_at, id);

-- Scenarios of all experiments are listed in this order.
CREATE INDEX scenarios_position ON scenarios (experiment DESC, run, position);

-- Who may ask for what. The text of a key is known to its holder only.
CREATE TABLE api_keys (
    id           TEXT    NOT NULL PRIMARY KEY,
    owner        TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    hash         TEXT    NOT NULL UNIQUE,
    sandbox      TEXT,
    created_at   BIGINT  NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT
);
CREATE INDEX api_keys_sandbox ON api_keys (sandbox);

-- Values that nobody may see, sealed.
CREATE TABLE secrets (
    owner       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    sealed      BLOB    NOT NULL,
    PRIMARY KEY (owner, name)
);

-- All secrets of an experiment in one document, sealed.
CREATE TABLE experiment_secrets (
    experiment  TEXT    NOT NULL PRIMARY KEY REFERENCES experiments (id) ON DELETE CASCADE,
    sealed      BLOB    NOT NULL
);

-- Versions of agents. The bundle is an artifact with the name of its digest.
CREATE TABLE snapshots (
    id          TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    version     BIGINT  NOT NULL,
    tag         TEXT    NOT NULL,
    digest      TEXT    NOT NULL,
    size        BIGINT  NOT NULL,
    runtime     TEXT    NOT NULL,
    entrypoint  TEXT    NOT NULL,
    auth        TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    UNIQUE (owner, name, version)
);
CREATE INDEX snapshots_tag ON snapshots (owner, name, tag, version);
CREATE INDEX snapshots_digest ON snapshots (digest);

-- What agents report of themselves, and what was observed of them.
CREATE TABLE traces (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    owner           TEXT    NOT NULL,
    experiment      TEXT,
    run             BIGINT,
    scenario        TEXT,
    sandbox         TEXT,
    agent           TEXT    NOT NULL,
    self_reported   BOOLEAN NOT NULL,
    at              BIGINT  NOT NULL,
    event_type      TEXT    NOT NULL,
    tool            TEXT    NOT NULL,
    phase           TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    span_id         TEXT    NOT NULL,
    parent_span_id  TEXT    NOT NULL,
    root_span_id    TEXT    NOT NULL,
    duration_ms     BIGINT,
    body            TEXT    NOT NULL,
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);
CREATE INDEX traces_owner ON traces (owner, number);
CREATE INDEX traces_experiment ON traces (experiment, number);
CREATE INDEX traces_sandbox ON traces (sandbox, number);
CREATE INDEX traces_span ON traces (span_id, number);
CREATE INDEX traces_parent ON traces (parent_span_id, number);
CREATE INDEX traces_root ON traces (root_span_id, number);
CREATE INDEX traces_at ON traces (at);

-- Records to evaluate with. Each addition is a version.
CREATE TABLE datasets (
    id          TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    version     BIGINT  NOT NULL,
    created_at  BIGINT  NOT NULL
);
CREATE INDEX datasets_owner ON datasets (owner, created_at, id);

CREATE TABLE dataset_records (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    dataset     TEXT    NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    version     BIGINT  NOT NULL,
    input       TEXT    NOT NULL,
    expected    TEXT    NOT NULL,
    metadata    TEXT    NOT NULL,
    tags        TEXT    NOT NULL
);
CREATE INDEX dataset_records_dataset ON dataset_records (dataset, number);

CREATE TABLE record_tags (
    record      TEXT    NOT NULL REFERENCES dataset_records (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    PRIMARY KEY (record, tag)
);

-- Rules that are looked at when a run ends.
CREATE TABLE alerts (
    id              TEXT    NOT NULL PRIMARY KEY,
    owner           TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    eval_id         TEXT,
    condition       TEXT    NOT NULL,
    timeframe       TEXT,
    notify          TEXT    NOT NULL,
    webhook_url     TEXT,
    slack_channel   TEXT,
    created_at      BIGINT  NOT NULL
);
CREATE INDEX alerts_owner ON alerts (owner, created_at, id);

-- A rule fires once for a run.
CREATE TABLE alert_firings (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    alert       TEXT    NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    reason      TEXT    NOT NULL,
    fired_at    BIGINT  NOT NULL,
    UNIQUE (alert, experiment, run),
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);
CREATE INDEX alert_firings_run ON alert_firings (experiment, run);

-- Messages to the outside. One that is being delivered is due again when its lease ends.
CREATE TABLE deliveries (
    id          TEXT    NOT NULL PRIMARY KEY,
    alert       TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    attempts    BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    last_error  TEXT,
    created_at  BIGINT  NOT NULL,
    ended_at    BIGINT
);
CREATE INDEX deliveries_due ON deliveries (state, due_at, id);
CREATE INDEX deliveries_ended ON deliveries (ended_at);

-- Runs that ended, until somebody has looked at them. Written with the end of the run.
CREATE TABLE run_ends (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    ended_at    BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    UNIQUE (experiment, run),
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);
CREATE INDEX run_ends_due ON run_ends (due_at, number);

-- Rules by which scenarios are scored afterwards.
CREATE TABLE score_rules (
    id          TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    config      TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL
);
CREATE INDEX score_rules_owner ON score_rules (owner, created_at, id);

CREATE TABLE scores (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    rule        TEXT    NOT NULL REFERENCES score_rules (id) ON DELETE CASCADE,
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    scenario    TEXT    NOT NULL,
    trace       BIGINT,
    score       DOUBLE PRECISION NOT NULL,
    passed      BOOLEAN NOT NULL,
    message     TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    UNIQUE (rule, experiment, run, scenario),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);
CREATE INDEX scores_run ON scores (experiment, run, number);

-- Runs that somebody wants to be scored.
CREATE TABLE score_requests (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment  TEXT    NOT NULL,
    run         BIGINT  NOT NULL,
    rules       TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    attempts    BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    last_error  TEXT,
    created_at  BIGINT  NOT NULL,
    FOREIGN KEY (experiment, run) REFERENCES runs (experiment, number) ON DELETE CASCADE
);
CREATE INDEX score_requests_due ON score_requests (state, due_at, number);
CREATE INDEX score_requests_run ON score_requests (experiment, run);

-- Requests that are answered once, however often they are sent.
CREATE TABLE idempotency (
    owner       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    status      BIGINT,
    reply       TEXT,
    experiment  TEXT,
    run         BIGINT,
    busy_until  BIGINT  NOT NULL,
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (owner, key)
);
CREATE INDEX idempotency_created_at ON idempotency (created_at);

-- Processes that do jobs.
CREATE TABLE workers (
    id          TEXT    NOT NULL PRIMARY KEY,
    host        TEXT    NOT NULL,
    control     TEXT    NOT NULL,
    slots       BIGINT  NOT NULL,
    cpu_milli   BIGINT  NOT NULL,
    memory      BIGINT  NOT NULL,
    running     BIGINT  NOT NULL,
    free_disk   BIGINT  NOT NULL,
    reason      TEXT,
    version     TEXT    NOT NULL,
    started_at  BIGINT  NOT NULL,
    seen_at     BIGINT  NOT NULL
);
CREATE INDEX workers_seen_at ON workers (seen_at);

-- Sandboxes that people work in themselves.
CREATE TABLE sandboxes (
    id          TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    spec_id     TEXT    NOT NULL,
    digest      TEXT    NOT NULL REFERENCES specs (digest),
    state       TEXT    NOT NULL,
    wanted      BOOLEAN NOT NULL,
    worker      TEXT,
    token       TEXT,
    epoch       BIGINT  NOT NULL,
    lease_until BIGINT,
    metadata    TEXT    NOT NULL,
    services    TEXT    NOT NULL,
    secrets     BLOB,
    error       TEXT,
    timeout_ms  BIGINT  NOT NULL,
    cpu_milli   BIGINT  NOT NULL,
    memory      BIGINT  NOT NULL,
    created_at  BIGINT  NOT NULL,
    expires_at  BIGINT  NOT NULL,
    ended_at    BIGINT
);
CREATE INDEX sandboxes_state ON sandboxes (state, created_at, id);
CREATE INDEX sandboxes_owner ON sandboxes (owner, created_at, id);
CREATE INDEX sandboxes_digest ON sandboxes (digest);
CREATE INDEX sandboxes_ended_at ON sandboxes (ended_at);
