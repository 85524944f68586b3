-- Runs that later ones are compared with, by name. The report is a copy: it outlives its run, whose experiment need not be
-- there any more, so nothing refers to it.
CREATE TABLE baselines (
    owner      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    -- The branch whose line it is; empty for the baseline itself.
    branch     TEXT   NOT NULL,
    spec_id    TEXT   NOT NULL,
    digest     TEXT,
    experiment TEXT   NOT NULL,
    run        BIGINT NOT NULL,
    cells      BIGINT NOT NULL,
    replicas   BIGINT NOT NULL,
    passed     BIGINT NOT NULL,
    verdict    TEXT   NOT NULL,
    saved_at   BIGINT NOT NULL,
    saved_by   TEXT   NOT NULL,
    reason     TEXT   NOT NULL,
    -- What spoke against it when it was saved all the same: texts, as JSON.
    overridden TEXT   NOT NULL,
    report     TEXT   NOT NULL,
    PRIMARY KEY (owner, name, branch, spec_id)
);
