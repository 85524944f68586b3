set -e
rm -r cache
find . -name '*.tmp' -type f -delete
rm old.txt
