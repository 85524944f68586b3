# Refunds an order and tells its customer.
set -euo pipefail

# The image has no curl, so bash speaks HTTP itself.
post() {
    local status
    exec 3<>"/dev/tcp/$1/80"
    printf '%s\r\n' "POST $2 HTTP/1.1" "Host: $1" 'Content-Type: application/json' \
        "Content-Length: $(printf %s "$3" | wc -c)" 'Connection: close' '' >&3
    printf %s "$3" >&3
    read -r _ status _ <&3
    cat <&3 > /dev/null
    exec 3>&-
    [ "$status" = 202 ]
}

# Only an order that was paid is refunded, so a second run sends no second mail.
mail=$(psql --no-align --tuples-only --quiet -v ON_ERROR_STOP=1 <<'SQL'
UPDATE orders SET state = 'refunded' WHERE id = 7 AND state = 'paid'
RETURNING json_build_object('to', email, 'subject', 'Your refund',
    'text', format('We have refunded order %s: %s EUR.', id, amount));
SQL
)
[ -n "$mail" ] && post mail /messages "$mail"
echo "refunded order 7"
