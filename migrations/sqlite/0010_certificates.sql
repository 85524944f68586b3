-- What shows that a spec tells a right answer from others: one certificate for each content of a spec, the newest.
CREATE TABLE certificates (
    owner   TEXT   NOT NULL,
    spec_id TEXT   NOT NULL,
    digest  TEXT   NOT NULL,
    verdict TEXT   NOT NULL,
    made_at BIGINT NOT NULL,
    body    TEXT   NOT NULL,
    PRIMARY KEY (owner, spec_id, digest)
);
CREATE INDEX certificates_made ON certificates (made_at, owner, spec_id, digest);
