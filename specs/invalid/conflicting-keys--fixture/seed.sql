CREATE TABLE orders (id int);
