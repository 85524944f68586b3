-- What people say about outputs that judges rate: one label of each person about each output. The run is the one that acted, also
-- where its evidence was judged again.
CREATE TABLE labels (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    experiment TEXT COLLATE "C" NOT NULL,
    run        BIGINT NOT NULL,
    scenario   TEXT COLLATE "C" NOT NULL,
    invariant  TEXT COLLATE "C" NOT NULL,
    label      TEXT COLLATE "C" NOT NULL,
    person     TEXT COLLATE "C" NOT NULL,
    note       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (experiment, run, scenario, invariant, person),
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);
CREATE INDEX labels_created ON labels (created_at, id);
