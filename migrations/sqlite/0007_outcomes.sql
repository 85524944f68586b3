-- The number of worlds with each outcome of faults in a run's contract, for trends; null without a contract.

ALTER TABLE runs ADD COLUMN recovered BIGINT;
ALTER TABLE runs ADD COLUMN degraded BIGINT;
ALTER TABLE runs ADD COLUMN fabricated BIGINT;
ALTER TABLE runs ADD COLUMN corrupted BIGINT;

UPDATE runs SET
    recovered = (SELECT count(*) FROM json_each(score, '$.contract.outcomes') WHERE json_extract(value, '$.outcome') = 'recovered'),
    degraded = (SELECT count(*) FROM json_each(score, '$.contract.outcomes') WHERE json_extract(value, '$.outcome') = 'degraded'),
    fabricated = (SELECT count(*) FROM json_each(score, '$.contract.outcomes') WHERE json_extract(value, '$.outcome') = 'fabricated'),
    corrupted = (SELECT count(*) FROM json_each(score, '$.contract.outcomes') WHERE json_extract(value, '$.outcome') = 'corrupted')
WHERE json_extract(score, '$.contract') IS NOT NULL;

-- The calls of a scenario beside those of the session that it replayed, as JSON; null where none was, and for older runs.

ALTER TABLE scenarios ADD COLUMN replay TEXT;
