#!/bin/bash
# The start of a MySQL or MariaDB container, with the environment of the official images:
#   MYSQL_ROOT_PASSWORD, MYSQL_ROOT_HOST, MYSQL_DATABASE, MYSQL_USER, MYSQL_PASSWORD (each also as NAME_FILE),
#   MYSQL_ALLOW_EMPTY_PASSWORD, MYSQL_RANDOM_ROOT_PASSWORD, and /docker-entrypoint-initdb.d/*.{sh,sql,sql.gz}.
# TOUCHSTONE_LAID_OUT says that what a database begins with is in its folder already.
# MariaDB also takes them as MARIADB_…, with MARIADB_ALLOW_EMPTY_ROOT_PASSWORD, and prefers those.
# No connection over TCP is answered before all of that is done, so whoever gets an answer knows that it is ready.
set -Eeuo pipefail

TEMPLATE=/usr/local/share/touchstone/data.tar
DATA=/var/lib/mysql
SOCKET=/var/run/mysqld/mysqld.sock

fail() {
    printf '[ERROR] [Entrypoint]: %s\n' "$1" >&2
    exit 1
}

note() { printf '[Note] [Entrypoint]: %s\n' "$1"; }

# Finds a setting under its names, or in the file that NAME_FILE names.
setting() {
    local prefixes=(MYSQL) prefix name file_name
    [ "$TOUCHSTONE_SERVER" != mariadbd ] || prefixes=(MARIADB MYSQL)
    for prefix in "${prefixes[@]}"; do
        name=${prefix}_$1 file_name=${prefix}_$1_FILE
        if [ -n "${!name:-}" ] && [ -n "${!file_name:-}" ]; then
            fail "both $name and $file_name are set, but only one may be"
        fi
        if [ -n "${!file_name:-}" ]; then cat "${!file_name}" && return; fi
        if [ -n "${!name:-}" ]; then printf '%s' "${!name}" && return; fi
    done
}

# Quotes a text for SQL, on one line, as the file of first statements wants it.
literal() {
    local text=$1
    text=${text//\\/\\\\}
    text=${text//\'/\\\'}
    text=${text//$'\n'/\\n}
    printf "'%s'" "$text"
}
identifier() { printf '`%s`' "${1//\`/\`\`}"; }

# A start as root hands the data directory to the server's user, and goes on as that user.
drop_root() {
    mkdir -p "$DATA" "${SOCKET%/*}"
    find "$DATA" "${SOCKET%/*}" \! -user mysql -exec chown mysql:mysql '{}' +
    exec setpriv --reuid=mysql --regid=mysql --init-groups "$0" "$@"
}

read_settings() {
    ROOT_PASSWORD=$(setting ROOT_PASSWORD)
    ROOT_HOST=$(setting ROOT_HOST)
    DATABASE=$(setting DATABASE)
    USER_NAME=$(setting USER)
    USER_PASSWORD=$(setting PASSWORD)
    ALLOW_EMPTY=$(setting ALLOW_EMPTY_ROOT_PASSWORD)$(setting ALLOW_EMPTY_PASSWORD)
    RANDOM_PASSWORD=$(setting RANDOM_ROOT_PASSWORD)
}

check_settings() {
    if [ -z "$ROOT_PASSWORD$ALLOW_EMPTY$RANDOM_PASSWORD" ]; then
        fail 'Database is uninitialized and password option is not specified
    You need to specify one of the following as an environment variable:
    - MYSQL_ROOT_PASSWORD
    - MYSQL_ALLOW_EMPTY_PASSWORD
    - MYSQL_RANDOM_ROOT_PASSWORD'
    fi
    if [ "$USER_NAME" = root ]; then
        fail 'MYSQL_USER="root", but MYSQL_USER and MYSQL_PASSWORD are for a regular user and cannot be used for root'
    fi
    if [ -n "$USER_NAME" ] && [ -z "$USER_PASSWORD" ]; then
        fail 'MYSQL_USER is set, but MYSQL_PASSWORD is missing, and the user would have no password'
    fi
    if [ -n "$RANDOM_PASSWORD" ]; then
        ROOT_PASSWORD=$(head -c 24 /dev/urandom | base64)
        note "GENERATED ROOT PASSWORD: $ROOT_PASSWORD"
    fi
}

# The password of root comes last, because the client that runs these may have logged in without one.
first_statements() {
    local host=${ROOT_HOST:-%} name
    if [ -n "$DATABASE" ]; then printf 'CREATE DATABASE IF NOT EXISTS %s;\n' "$(identifier "$DATABASE")"; fi
    if [ -n "$USER_NAME" ]; then
        name="$(literal "$USER_NAME")@'%'"
        printf 'CREATE USER %s IDENTIFIED BY %s;\n' "$name" "$(literal "$USER_PASSWORD")"
        if [ -n "$DATABASE" ]; then
            printf 'GRANT ALL ON %s.* TO %s;\n' "$(identifier "${DATABASE//_/\\_}")" "$name"
        fi
    fi
    if [ "$host" != localhost ]; then
        name="'root'@$(literal "$host")"
        printf 'CREATE USER %s IDENTIFIED BY %s;\n' "$name" "$(literal "$ROOT_PASSWORD")"
        printf 'GRANT ALL ON *.* TO %s WITH GRANT OPTION;\n' "$name"
    fi
    printf "ALTER USER 'root'@'localhost' IDENTIFIED BY %s;\n" "$(literal "$ROOT_PASSWORD")"
}

# For scripts of the user, which the official images give this name.
docker_process_sql() {
    MYSQL_PWD=$ROOT_PASSWORD "$TOUCHSTONE_CLIENT" --no-defaults --protocol=socket --socket="$SOCKET" \
        --user=root --comments ${DATABASE:+--database="$DATABASE"} "$@"
}

run_file() {
    note "running $1"
    case $1 in
        *.sh) if [ -x "$1" ]; then "$1"; else . "$1"; fi ;;
        *.sql) docker_process_sql < "$1" ;;
        *.sql.gz) gunzip -c "$1" | docker_process_sql ;;
        *) note "ignoring $1" ;;
    esac
}

wait_for_server() {
    local tries=0
    until docker_process_sql --execute 'SELECT 1' > /dev/null 2>&1; do
        kill -0 "$1" 2> /dev/null || fail 'the temporary server ended'
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || fail 'the temporary server did not answer in a minute'
        sleep 0.05
    done
}

# The files of /docker-entrypoint-initdb.d, on a server that only the Unix socket leads to.
run_files() {
    local server file
    "$@" --skip-networking --init-file=/dev/fd/3 3< <(first_statements) &
    server=$!
    wait_for_server "$server"
    for file in /docker-entrypoint-initdb.d/*; do run_file "$file"; done
    kill "$server"
    wait "$server" || fail 'the temporary server did not stop well'
}

initialise() {
    local files=(/docker-entrypoint-initdb.d/*)
    read_settings
    check_settings
    [ -n "${TOUCHSTONE_LAID_OUT:-}" ] || tar --extract --directory="$DATA" --file="$TEMPLATE" --no-same-owner --no-overwrite-dir
    if [ -e "${files[0]}" ]; then
        run_files "$@"
        exec "$@"
    fi
    # The server runs these before it answers anybody. They go through a pipe, so that no file keeps the passwords.
    exec "$@" --init-file=/dev/fd/3 3<<< "$(first_statements)"
}

if [ "${1:0:1}" = - ]; then set -- "$TOUCHSTONE_SERVER" "$@"; fi
if [ "${1:-}" = mysqld ] || [ "${1:-}" = mariadbd ]; then
    shift
    set -- "$TOUCHSTONE_SERVER" "$@"
    if [ "$(id -u)" = 0 ]; then drop_root "$@"; fi
    if [ ! -d "$DATA/mysql" ] || [ -n "${TOUCHSTONE_LAID_OUT:-}" ]; then initialise "$@"; fi
fi
exec "$@"
