CREATE TABLE customers (
    id integer PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL UNIQUE
);

CREATE TABLE subscriptions (
    id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers (id),
    plan text NOT NULL,
    price numeric(8, 2) NOT NULL,
    state text NOT NULL CHECK (state IN ('active', 'cancelled')),
    renews_on date NOT NULL,
    notice_sent_on date
);

INSERT INTO customers (id, name, email) VALUES
    (1, 'Alice Ahrens', 'alice@example.com'),
    (2, 'Bob Brandt', 'bob@example.com'),
    (3, 'Carol Cole', 'carol@example.com'),
    (4, 'Dan Dorn', 'dan@example.com'),
    (5, 'Eve Ebel', 'eve@example.com');

-- Only Alice is due: Bob renews later, Carol cancelled, Dan was told, and Eve's day is past.
INSERT INTO subscriptions (id, customer_id, plan, price, state, renews_on, notice_sent_on) VALUES
    (1, 1, 'Team', 49.00, 'active', '2026-03-15', NULL),
    (2, 2, 'Solo', 9.00, 'active', '2026-06-01', NULL),
    (3, 3, 'Team', 49.00, 'cancelled', '2026-03-10', NULL),
    (4, 4, 'Solo', 9.00, 'active', '2026-03-05', '2026-02-20'),
    (5, 5, 'Solo', 9.00, 'active', '2026-02-01', NULL);
