# Writes what the task puts between quotation marks, so that another prompt gives another greeting.
greeting=$(printf '%s\n' "$TOUCHSTONE_TASK_PROMPT" | sed -n 's/.*"\(.*\)".*/\1/p')
printf '%s\n' "$greeting" > hello.txt
echo "Wrote: $greeting"
