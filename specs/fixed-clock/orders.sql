CREATE TABLE orders (id int, placed date);
INSERT INTO orders VALUES (1, '2024-02-28'), (2, '2024-02-29'), (3, '2024-02-29'), (4, '2024-03-01');
