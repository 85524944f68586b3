# Succeeds for three seeds of four, as an agent that depends on a model's luck does.
# The same seed always gives the same end, so a failure can be repeated.
if [ $((TOUCHSTONE_SEED % 4)) -eq 0 ]; then
    echo "I could not find the file, so I stopped." >&2
    exit 1
fi
sort -n numbers.txt > sorted.txt
echo "Sorted."
