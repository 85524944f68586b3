# Does its work, and then uses too much of what the first argument names.
echo done > done.txt
case $1 in
memory) exec perl -e '$x = "x" x (512 * 1024 * 1024)' ;;
disk) head -c 64000000 /dev/zero > large ;;
pids) exec perl -e 'for (1..100) { fork // exit; } sleep 5' ;;
output) yes | head -c 4000000 ;;
esac
true
