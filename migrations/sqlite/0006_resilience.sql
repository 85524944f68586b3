-- The resilience score of a run's contract, for trends; null without a contract, and when no cell could be judged.

ALTER TABLE runs ADD COLUMN resilience DOUBLE PRECISION;

UPDATE runs SET resilience = json_extract(score, '$.contract.resilience_score') WHERE score IS NOT NULL;
