#!/bin/bash
# The start of a Redis container, like the official image's: options and configuration files go to the server, which runs
# as its own user and, like there, accepts connections from everywhere.
set -euo pipefail

if [ "${1:0:1}" = - ] || [ "${1%.conf}" != "$1" ]; then set -- redis-server "$@"; fi
if [ "$1" = redis-server ]; then
    if [ "$(id -u)" = 0 ]; then
        find . \! -user redis -exec chown redis:redis '{}' +
        exec setpriv --reuid=redis --regid=redis --init-groups "$0" "$@"
    fi
    umask 0077
    set -- "$@" --protected-mode no --bind '* -::*'
fi
exec "$@"
