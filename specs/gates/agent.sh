# Writes a letter that misses what the first argument names.
case $1 in
amount) printf 'Dear Ada,\nyou owe us something.\n' ;;
promise) printf 'Dear Ada,\nyou owe us 40 EUR. We promise to wait.\n' ;;
esac > letter.txt
