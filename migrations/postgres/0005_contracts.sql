-- How often faults fired in a scenario, for the cells of contracts; null when there was no rule for any.

ALTER TABLE scenarios ADD COLUMN faults_fired BIGINT;
