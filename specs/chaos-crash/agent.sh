# Nobody knows if a commit without an answer was made, so look before each try.
paid() { psql -qAtc "SELECT count(*) FROM payments WHERE order_id = 7"; }

book() {
    psql -qAt -v ON_ERROR_STOP=1 <<SQL
BEGIN;
INSERT INTO payments VALUES (7);
UPDATE orders SET state = 'paid' WHERE id = 7;
COMMIT;
SQL
}

for try in $(seq 50); do
    case "$(paid)" in
        1) exit 0 ;;
        0) book ;;
    esac
    sleep 0.2
done
exit 1
