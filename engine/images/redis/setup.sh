# Runs inside the image.
rm -rf /var/lib/redis
install -d -o redis -g redis /data
