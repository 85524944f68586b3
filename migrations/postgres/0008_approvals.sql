-- Calls that tool contracts hold until a person decides. The identity is the same in every attempt of a scenario, so that a
-- hold outlives its worker: it is there again, once, with its deadline and its decision.
CREATE TABLE approvals (
    id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    experiment        TEXT COLLATE "C" NOT NULL,
    run               BIGINT  NOT NULL,
    scenario          TEXT COLLATE "C" NOT NULL,
    session           TEXT COLLATE "C" NOT NULL,
    tool              TEXT COLLATE "C" NOT NULL,
    arguments_hash    TEXT COLLATE "C" NOT NULL,
    contract          TEXT COLLATE "C" NOT NULL,
    repetition        BIGINT  NOT NULL,
    call              TEXT COLLATE "C" NOT NULL,
    state_version     BIGINT  NOT NULL,
    context           TEXT COLLATE "C" NOT NULL,
    checkpoints       TEXT COLLATE "C" NOT NULL,
    reason            TEXT COLLATE "C" NOT NULL,
    requested_at      BIGINT  NOT NULL,
    deadline          BIGINT  NOT NULL,
    allows_on_timeout BOOLEAN NOT NULL,
    status            TEXT COLLATE "C" NOT NULL,
    decided_by        TEXT COLLATE "C",
    decided_key       TEXT COLLATE "C",
    note              TEXT COLLATE "C",
    decided_at        BIGINT,
    used_in           BIGINT,
    told              BIGINT  NOT NULL,
    due_at            BIGINT,
    UNIQUE (experiment, run, scenario, session, tool, arguments_hash, contract, repetition),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);
CREATE INDEX approvals_requested ON approvals (requested_at, id);
CREATE INDEX approvals_status ON approvals (status, deadline);
CREATE INDEX approvals_due ON approvals (due_at, id);

-- What an alert tells of besides ends of runs: names of events, as JSON. Such an alert has no condition.
ALTER TABLE alerts ADD COLUMN events TEXT COLLATE "C" NOT NULL DEFAULT '[]';
