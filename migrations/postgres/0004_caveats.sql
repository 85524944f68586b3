-- What a reader must know to see what a result is worth, and the world that a scenario ran in (JSON). NULL where an earlier
-- version wrote the result.
ALTER TABLE scenarios ADD COLUMN caveats TEXT COLLATE "C";
ALTER TABLE scenarios ADD COLUMN ran_in TEXT COLLATE "C";
