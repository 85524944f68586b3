#!/bin/bash
# The start of a Postgres container, with the environment of the official image:
#   POSTGRES_PASSWORD, POSTGRES_USER, POSTGRES_DB, POSTGRES_INITDB_ARGS (each also as NAME_FILE), POSTGRES_INITDB_WALDIR,
#   POSTGRES_HOST_AUTH_METHOD, PGDATA, and /docker-entrypoint-initdb.d/*.{sh,sql,sql.gz}.
# The server is reachable over TCP only when all of that is done, so whoever can connect knows that it is ready.
set -Eeuo pipefail

TEMPLATE=/usr/local/share/touchstone/data.tar
SETTINGS=${TOUCHSTONE_SETTINGS:-/usr/local/share/touchstone/postgresql.conf}

# Sets a variable from the file that NAME_FILE names, or to a default.
file_env() {
    local name=$1 file_name=$1_FILE default=${2:-}
    if [ -n "${!name:-}" ] && [ -n "${!file_name:-}" ]; then
        fail "both $name and $file_name are set, but only one may be"
    fi
    if [ -n "${!file_name:-}" ]; then
        export "$name"="$(< "${!file_name}")"
    else
        export "$name"="${!name:-$default}"
    fi
    unset "$file_name"
}

fail() {
    printf 'Error: %s\n' "$1" >&2
    exit 1
}

# Quotes a text for SQL.
literal() { printf "'%s'" "${1//\'/\'\'}"; }
identifier() { printf '"%s"' "${1//\"/\"\"}"; }

# A start as root hands the data directory to the server's user, and goes on as that user.
drop_root() {
    mkdir -p "$PGDATA" /var/run/postgresql
    chmod 3777 /var/run/postgresql
    find "$PGDATA" /var/run/postgresql \! -user postgres -exec chown postgres:postgres '{}' +
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
}

need_password() {
    if [ -z "$POSTGRES_PASSWORD" ] && [ "$POSTGRES_HOST_AUTH_METHOD" != trust ]; then
        fail 'Database is uninitialized and superuser password is not specified.
       You must specify POSTGRES_PASSWORD to a non-empty value for the
       superuser. For example, "-e POSTGRES_PASSWORD=password" on "docker run".

       You may also use "POSTGRES_HOST_AUTH_METHOD=trust" to allow all
       connections without a password. This is *not* recommended.'
    fi
}

# Loopback is not "local" here: the agent shares it. So no address is let in without a password, and only the Unix socket
# inside this container is open to whoever can run a program in it.
write_access_rules() {
    local method=${POSTGRES_HOST_AUTH_METHOD:-$1}
    printf '%s\n' 'local all all trust' 'local replication all trust' \
        "host all all all $method" "host replication all all $method" > "$PGDATA/pg_hba.conf"
}

# The prepared data directory, its superuser renamed, given the password, and the database made, without a server.
copy_template() {
    tar --extract --directory="$PGDATA" --file="$TEMPLATE" --no-same-owner --no-overwrite-dir
    chmod 700 "$PGDATA" 2> /dev/null || true
    write_access_rules scram-sha-256
    first_statements | run_alone
}

first_statements() {
    if [ "$POSTGRES_USER" != postgres ]; then
        printf 'UPDATE pg_authid SET rolname = %s WHERE oid = 10;\n\n' "$(literal "$POSTGRES_USER")"
    fi
    if [ -n "$POSTGRES_PASSWORD" ]; then
        printf 'ALTER ROLE %s PASSWORD %s;\n\n' "$(identifier "$POSTGRES_USER")" "$(literal "$POSTGRES_PASSWORD")"
    fi
    if [ "$POSTGRES_DB" != postgres ]; then
        printf 'CREATE DATABASE %s;\n\n' "$(identifier "$POSTGRES_DB")"
    fi
}

# Runs statements from the standard input in a server of their own. It ends well even when a statement failed, so its
# messages decide.
run_alone() {
    local messages
    messages=$(postgres --single -j -D "$PGDATA" postgres 2>&1 > /dev/null) || fail "$messages"
    if [[ $messages == *ERROR:* || $messages == *FATAL:* ]]; then
        fail "the database cannot be prepared: $messages"
    fi
}

# What the official image does: the arguments are the user's, so the data directory cannot be prepared for them. Where a
# program of the machine is used, its usual settings are not those of an image.
make_from_scratch() {
    local wal=()
    [ -z "${POSTGRES_INITDB_WALDIR:-}" ] || wal=(--waldir="$POSTGRES_INITDB_WALDIR")
    eval 'initdb --username="$POSTGRES_USER" --pwfile=<(printf "%s\n" "$POSTGRES_PASSWORD") "${wal[@]}" '"$POSTGRES_INITDB_ARGS"
    grep --quiet "$SETTINGS" "$PGDATA/postgresql.conf" || printf "include '%s'\n" "$SETTINGS" >> "$PGDATA/postgresql.conf"
    write_access_rules "$(postgres -C password_encryption -D "$PGDATA")"
    if [ "$POSTGRES_DB" != postgres ]; then
        printf 'CREATE DATABASE %s;\n\n' "$(identifier "$POSTGRES_DB")" | run_alone
    fi
}

# For scripts of the user, which the official image gives this name.
docker_process_sql() {
    PGHOST='' PGHOSTADDR='' psql -v ON_ERROR_STOP=1 --no-password --no-psqlrc \
        --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" "$@"
}

run_file() {
    printf '%s: running %s\n' "$0" "$1"
    case $1 in
        *.sh) if [ -x "$1" ]; then "$1"; else . "$1"; fi ;;
        *.sql) docker_process_sql -f "$1" ;;
        *.sql.gz) gunzip -c "$1" | docker_process_sql ;;
        *) printf '%s: ignoring %s\n' "$0" "$1" ;;
    esac
}

# The files of /docker-entrypoint-initdb.d, on a server that only the Unix socket leads to.
run_files() {
    local files=(/docker-entrypoint-initdb.d/*) file
    [ -e "${files[0]}" ] || return 0
    PGUSER="${PGUSER:-$POSTGRES_USER}" pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -p ${PGPORT:-5432}" -w start > /dev/null
    export PGPASSWORD="$POSTGRES_PASSWORD"
    for file in "${files[@]}"; do run_file "$file"; done
    unset PGPASSWORD
    pg_ctl -D "$PGDATA" -m fast -w stop > /dev/null
}

initialise() {
    file_env POSTGRES_PASSWORD
    file_env POSTGRES_USER postgres
    file_env POSTGRES_DB "$POSTGRES_USER"
    file_env POSTGRES_INITDB_ARGS
    export POSTGRES_HOST_AUTH_METHOD="${POSTGRES_HOST_AUTH_METHOD:-}"
    need_password
    if [ -n "$POSTGRES_INITDB_ARGS${POSTGRES_INITDB_WALDIR:-}" ] || [ ! -e "$TEMPLATE" ]; then
        make_from_scratch
    else
        copy_template
    fi
    run_files
    printf '\nPostgreSQL init process complete; ready for start up.\n\n'
}

if [ "${1:0:1}" = - ]; then set -- postgres "$@"; fi
if [ "${1:-}" = postgres ]; then
    if [ "$(id -u)" = 0 ]; then drop_root "$@"; fi
    if [ ! -s "$PGDATA/PG_VERSION" ]; then initialise; fi
fi
exec "$@"
