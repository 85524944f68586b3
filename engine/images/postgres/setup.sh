# Runs inside the image: the locale of the official image, the folders, and the data directory.
binaries=/usr/lib/postgresql/15/bin
localedef -i en_US -f UTF-8 en_US.UTF-8
install -d -o postgres -g postgres -m 3777 /var/run/postgresql
# The start makes it private; until then, any user may be the one that the container runs as.
install -d -o postgres -g postgres -m 1777 /var/lib/postgresql/data
install -d /docker-entrypoint-initdb.d
echo "include '/usr/local/share/touchstone/postgresql.conf'" >> /usr/share/postgresql/15/postgresql.conf.sample

# It is made here, so that a start only copies it, and kept as one sparse archive, because reading one file is several
# times faster than reading a thousand small ones through an overlay.
data=/var/lib/postgresql/template
install -d -o postgres -g postgres -m 700 "$data"
LANG=en_US.utf8 setpriv --reuid=postgres --regid=postgres --init-groups \
    "$binaries/initdb" --pgdata="$data" --username=postgres --no-sync > /dev/null
tar --create --sparse --directory="$data" --file=/usr/local/share/touchstone/data.tar .
rm -rf "$data"
