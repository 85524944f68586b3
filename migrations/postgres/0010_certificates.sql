-- What shows that a spec tells a right answer from others: one certificate for each content of a spec, the newest.
CREATE TABLE certificates (
    owner   TEXT COLLATE "C" NOT NULL,
    spec_id TEXT COLLATE "C" NOT NULL,
    digest  TEXT COLLATE "C" NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    made_at BIGINT           NOT NULL,
    body    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, spec_id, digest)
);
CREATE INDEX certificates_made ON certificates (made_at, owner, spec_id, digest);
