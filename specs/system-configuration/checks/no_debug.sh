# Whether the folder is there and nothing is in it.
if [ -d /etc/app/conf.d ] && [ -z "$(ls -A /etc/app/conf.d)" ]; then
  echo '{"passed": true}'
else
  echo '{"passed": false, "reason": "something is left in /etc/app/conf.d"}'
fi
