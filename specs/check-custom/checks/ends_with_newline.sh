# A file of text ends with a line break; $(...) drops it, so nothing is left of a last byte that is one.
# The context on standard input is not needed: the script is run in the workspace.
if [ -s primes.txt ] && [ -z "$(tail -c 1 primes.txt)" ]; then
    echo '{"passed": true, "reason": "the last line ends"}'
else
    echo '{"passed": false, "reason": "primes.txt is empty, or its last line does not end"}'
fi
