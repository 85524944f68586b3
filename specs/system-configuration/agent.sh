# Changes one setting, and removes the file with another.
mkdir .backup
cp /etc/app/app.conf /etc/app/conf.d/debug.conf .backup
sed -i s/8080/8443/ /etc/app/app.conf
rm /etc/app/conf.d/debug.conf
echo "Port 8443, no debugging." > report.txt
