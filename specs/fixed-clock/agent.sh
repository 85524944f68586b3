# Reports on yesterday, by the clock of the sandbox and by that of the database.
set -eu
day=$(date -u -d yesterday +%F)
count=$(psql -Atc "SELECT count(*) FROM orders WHERE placed = current_date - 1")
echo "$day $count" > report.txt
