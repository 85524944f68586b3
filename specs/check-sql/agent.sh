psql --quiet -v ON_ERROR_STOP=1 <<'SQL'
UPDATE orders SET paid = true, paid_at = timestamptz '2026-01-31 09:00:00+00' WHERE id = 1 AND NOT paid;
SQL
