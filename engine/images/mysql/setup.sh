# Runs inside the image: the server's user, its folders, and the data directory.
mkdir -p /usr/local/share/touchstone
echo 'mysql:x:999:' >> /etc/group
echo 'mysql:x:999:999::/var/lib/mysql:/usr/sbin/nologin' >> /etc/passwd
install -d /docker-entrypoint-initdb.d /etc/mysql/conf.d
install -d -o mysql -g mysql -m 1777 /var/lib/mysql /var/run/mysqld
install -d -o mysql -g mysql -m 750 /var/lib/mysql-files

# It is made here, so that a start only copies it, and kept as one sparse archive. The first server always makes large
# logs; a second one shrinks them to what the settings say.
data=/var/lib/mysql-template
as_mysql='setpriv --reuid=mysql --regid=mysql --init-groups mysqld --datadir=/var/lib/mysql-template'
install -d -o mysql -g mysql "$data"
echo 'SHUTDOWN;' > /tmp/shutdown.sql
$as_mysql --initialize-insecure
$as_mysql --skip-networking --init-file=/tmp/shutdown.sql
# Each copy gets an identity of its own, and logs in reserve are made again.
rm -rf "$data"/auto.cnf "$data"/ibtmp1 "$data"/*.dblwr "$data/#innodb_redo"/*_tmp /tmp/shutdown.sql
tar --create --sparse --directory="$data" --file=/usr/local/share/touchstone/data.tar .
rm -rf "$data"
