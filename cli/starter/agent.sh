# The task is in $TOUCHSTONE_TASK_PROMPT. A real agent would ask a model here.
echo "Working on: $TOUCHSTONE_TASK_PROMPT"
echo "Hello, world" > hello.txt
