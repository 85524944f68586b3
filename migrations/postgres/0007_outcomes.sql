-- The number of worlds with each outcome of faults in a run's contract, for trends; null without a contract.

ALTER TABLE runs ADD COLUMN recovered BIGINT;
ALTER TABLE runs ADD COLUMN degraded BIGINT;
ALTER TABLE runs ADD COLUMN fabricated BIGINT;
ALTER TABLE runs ADD COLUMN corrupted BIGINT;

UPDATE runs SET
    recovered = (SELECT count(*) FROM jsonb_array_elements(score::jsonb #> '{contract,outcomes}') AS one WHERE one ->> 'outcome' = 'recovered'),
    degraded = (SELECT count(*) FROM jsonb_array_elements(score::jsonb #> '{contract,outcomes}') AS one WHERE one ->> 'outcome' = 'degraded'),
    fabricated = (SELECT count(*) FROM jsonb_array_elements(score::jsonb #> '{contract,outcomes}') AS one WHERE one ->> 'outcome' = 'fabricated'),
    corrupted = (SELECT count(*) FROM jsonb_array_elements(score::jsonb #> '{contract,outcomes}') AS one WHERE one ->> 'outcome' = 'corrupted')
WHERE score IS NOT NULL AND jsonb_typeof(score::jsonb #> '{contract,outcomes}') = 'array';

-- The calls of a scenario beside those of the session that it replayed, as JSON; null where none was, and for older runs.

ALTER TABLE scenarios ADD COLUMN replay TEXT COLLATE "C";
