# Tells customers that their subscription renews.
set -euo pipefail

# Not the clock's day: the task says which day it is.
today=$(grep -oE '[0-9]{4}-[0-9]{2}-[0-9]{2}' <<< "$TOUCHSTONE_TASK_PROMPT" | head -n 1)
. /run/secrets/mail.conf

# Sends a mail; the image has no curl, so bash speaks HTTP itself.
send() {
    local status
    exec 3<>/dev/tcp/api.mail.example.com/80
    printf '%s\r\n' 'POST /v1/messages HTTP/1.1' 'Host: api.mail.example.com' "Authorization: Bearer $MAIL_KEY" \
        'Content-Type: application/json' "Content-Length: $(printf %s "$1" | wc -c)" 'Connection: close' '' >&3
    printf %s "$1" >&3
    read -r _ status _ <&3
    cat <&3 > /dev/null
    exec 3>&-
    [ "$status" = 202 ]
}

# The database builds the JSON, so that no name can break its quoting.
due() {
    psql --no-align --tuples-only --field-separator='|' -v ON_ERROR_STOP=1 -v today="$today" <<'SQL'
SELECT s.id, c.email, json_build_object(
    'to', c.email,
    'subject', format('Your %s plan renews on %s', s.plan, s.renews_on),
    'text', format('Hello %s, your %s plan renews on %s for %s EUR.', c.name, s.plan, s.renews_on, s.price)
)
FROM subscriptions s JOIN customers c ON c.id = s.customer_id
WHERE s.state = 'active'
  AND s.notice_sent_on IS NULL
  AND s.renews_on BETWEEN :'today'::date AND :'today'::date + 30
ORDER BY s.id;
SQL
}

note() {
    psql --quiet -v ON_ERROR_STOP=1 -v id="$1" -v today="$today" <<'SQL'
UPDATE subscriptions SET notice_sent_on = :'today' WHERE id = :id;
SQL
}

rows=$(due)
while IFS='|' read -r id email body; do
    [ -n "$id" ] || continue
    # Noted only after the provider took the mail: a second run would send what failed.
    send "$body"
    note "$id"
    echo "Wrote to $email"
done <<< "$rows"
