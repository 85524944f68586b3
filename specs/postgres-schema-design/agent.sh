# Creates the schema in one transaction, and tries the rule that is easiest to get wrong.
set -e

psql --quiet -v ON_ERROR_STOP=1 --single-transaction <<'SQL'
CREATE TABLE members (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE
);

CREATE TABLE books (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL,
    isbn text NOT NULL UNIQUE CHECK (isbn ~ '^[0-9]{13}$')
);

CREATE TABLE loans (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    book_id bigint NOT NULL REFERENCES books (id),
    member_id bigint NOT NULL REFERENCES members (id),
    lent_on date NOT NULL,
    due_on date NOT NULL CHECK (due_on > lent_on),
    returned_on date,
    fee numeric(8, 2) NOT NULL DEFAULT 0
);

-- Among loans that are out, a book stands once; returned loans may repeat it.
CREATE UNIQUE INDEX loans_out ON loans (book_id) WHERE returned_on IS NULL;
SQL

# Lends one book twice, in a transaction that is rolled back whatever happens.
if psql --quiet -v ON_ERROR_STOP=1 2>/dev/null <<'SQL'
BEGIN;
INSERT INTO members (name, email) VALUES ('A', 'a@example.com');
INSERT INTO books (title, isbn) VALUES ('B', '9780000000000');
INSERT INTO loans (book_id, member_id, lent_on, due_on)
    SELECT books.id, members.id, '2026-01-01', '2026-02-01' FROM books, members, generate_series(1, 2);
ROLLBACK;
SQL
then
    echo "A book could be lent twice." >&2
    exit 1
fi
echo "The schema stands, and a book cannot be lent twice."
