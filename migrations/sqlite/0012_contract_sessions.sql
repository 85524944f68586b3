-- Sessions under tool contracts whose agents run somewhere else. A session is its requests: applied again in their order, with
-- the times that they had, they make the same state and the same log, whose last hash is kept beside them. Contracts, principal
-- and requests are sealed, because arguments have secrets in them.
CREATE TABLE contract_sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    contract   TEXT    NOT NULL,
    mode       TEXT    NOT NULL,
    terms      BLOB    NOT NULL,
    status     TEXT    NOT NULL,
    requests   BIGINT  NOT NULL,
    bytes      BIGINT  NOT NULL,
    last_hash  TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);
CREATE INDEX contract_sessions_owner ON contract_sessions (owner, created_at, id);
CREATE INDEX contract_sessions_created ON contract_sessions (created_at, id);
CREATE TABLE contract_session_requests (
    session TEXT   NOT NULL REFERENCES contract_sessions (id) ON DELETE CASCADE,
    number  BIGINT NOT NULL,
    sealed  BLOB   NOT NULL,
    PRIMARY KEY (session, number)
);

-- Interventions of operators in sessions of scenarios that are run. The worker that runs the scenario takes them in their order.
CREATE TABLE contract_interventions (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment TEXT NOT NULL,
    run        BIGINT  NOT NULL,
    scenario   TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at BIGINT  NOT NULL,
    FOREIGN KEY (experiment, run, scenario) REFERENCES scenarios (experiment, run, id) ON DELETE CASCADE
);
CREATE INDEX contract_interventions_scenario ON contract_interventions (experiment, run, scenario, number);
