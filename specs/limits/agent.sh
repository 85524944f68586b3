# Does its work, and then uses too much of what the first argument names.
echo done > done.txt
case $1 in
memory) exec perl -e '$x = "x" x (512 * 1024 * 1024)' ;;
disk) head -c 64000000 /dev/zero > large ;;
pids) exec perl -e 'for (1..60) { my $child = fork // exit; $child or exec "sleep", 2 } 1 while wait > 0' ;;
output) yes | head -c 4000000 ;;
esac
true
