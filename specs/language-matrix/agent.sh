# Writes the program in the language of the first argument, and tries it.
set -e

case $1 in
sh)
    cat > total <<'PROGRAM'
#!/bin/sh
sum=0
while read -r number; do
    sum=$((sum + number))
done
echo "$sum"
PROGRAM
    ;;
awk)
    # A plain print would show large sums as 5.00005e+09.
    cat > total <<'PROGRAM'
#!/usr/bin/awk -f
{ sum += $1 }
END { printf "%.0f\n", sum }
PROGRAM
    ;;
perl)
    cat > total <<'PROGRAM'
#!/usr/bin/perl
use strict;
my $sum = 0;
while (my $line = <STDIN>) {
    $sum += $line;
}
print "$sum\n";
PROGRAM
    ;;
python)
    cat > total <<'PROGRAM'
#!/usr/bin/env python3
import sys

print(sum(int(line) for line in sys.stdin))
PROGRAM
    ;;
*)
    echo "no such language: $1" >&2
    exit 1
    ;;
esac

chmod +x total
[ "$(seq 1 10 | ./total)" = 55 ]
echo "Wrote ./total in $1."
