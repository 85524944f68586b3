CREATE TABLE customers_a (
    id integer PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL
);

CREATE TABLE customers_b (
    id integer PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL
);

CREATE TABLE invoices (
    id integer PRIMARY KEY,
    customer_id integer NOT NULL,
    amount numeric(10, 2) NOT NULL
);

INSERT INTO customers_a (id, name, email)
    SELECT n, 'Customer ' || n, 'customer' || n || '@example.com' FROM generate_series(1, 40) AS n;

INSERT INTO customers_b SELECT * FROM customers_a;

INSERT INTO invoices SELECT n, n, n * 12.50 FROM generate_series(1, 40) AS n;
