# Runs inside the image: the server's user, its folders, and the data directory.
mkdir -p /usr/local/share/touchstone
echo 'mysql:x:999:' >> /etc/group
echo 'mysql:x:999:999::/var/lib/mysql:/usr/sbin/nologin' >> /etc/passwd
install -d /docker-entrypoint-initdb.d /etc/mysql/conf.d
install -d -o mysql -g mysql -m 1777 /var/lib/mysql /var/run/mysqld

# It is made here, so that a start only copies it, and kept as one sparse archive. Without --force, it wants to look up
# the name of the machine, which has none here.
data=/var/lib/mysql-template
install -d -o mysql -g mysql "$data"
setpriv --reuid=mysql --regid=mysql --init-groups mariadb-install-db --datadir="$data" \
    --auth-root-authentication-method=normal --skip-test-db --force > /dev/null
# It makes a root without a password for every name of the machine. Only the one on the Unix socket may stay: the agent
# shares the loopback addresses.
echo "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');
DELETE FROM mysql.proxies_priv WHERE Host <> 'localhost';" \
    | setpriv --reuid=mysql --regid=mysql --init-groups mariadbd --datadir="$data" --bootstrap 2> /dev/null
tar --create --sparse --directory="$data" --file=/usr/local/share/touchstone/data.tar .
rm -rf "$data"
