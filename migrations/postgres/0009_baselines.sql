-- Runs that later ones are compared with, by name. The report is a copy: it outlives its run, whose experiment need not be
-- there any more, so nothing refers to it.
CREATE TABLE baselines (
    owner      TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    -- The branch whose line it is; empty for the baseline itself.
    branch     TEXT COLLATE "C" NOT NULL,
    spec_id    TEXT COLLATE "C" NOT NULL,
    digest     TEXT COLLATE "C",
    experiment TEXT COLLATE "C" NOT NULL,
    run        BIGINT NOT NULL,
    cells      BIGINT NOT NULL,
    replicas   BIGINT NOT NULL,
    passed     BIGINT NOT NULL,
    verdict    TEXT COLLATE "C" NOT NULL,
    saved_at   BIGINT NOT NULL,
    saved_by   TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    -- What spoke against it when it was saved all the same: texts, as JSON.
    overridden TEXT COLLATE "C" NOT NULL,
    report     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, name, branch, spec_id)
);
