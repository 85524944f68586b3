# Runs on the host, with the image's root as its first argument, before the server is installed: tools that are large
# because each holds the whole client.
printf 'path-exclude=%s\n' '/usr/bin/myisam*' '/usr/bin/mysqlslap' '/usr/bin/mysqlbinlog' '/usr/bin/mysql_migrate_keyring' \
    '/usr/bin/perror' '/usr/bin/mysql_secure_installation' '/usr/bin/ibd2sdi' '/usr/bin/innochecksum' \
    '/usr/lib/mysql/plugin/*_client.so' '/usr/lib/mysql/plugin/*telemetry*' >> "$1/etc/dpkg/dpkg.cfg.d/touchstone"
