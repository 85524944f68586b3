"""An agent with a memory in a file. Your own goes here."""

import json
import os
import re

prompt = os.environ["TOUCHSTONE_TASK_PROMPT"]
try:
    with open("memory.json") as file:
        memory = json.load(file)
except FileNotFoundError:
    memory = []
memory.append(prompt)
with open("memory.json", "w") as file:
    json.dump(memory, file)

names = [found[1] for said in memory if (found := re.search(r"My name is (\w+)", said))]
if "password" in prompt:
    print("You can change it on the settings page.")
elif names:
    print(f"Hello, {names[-1]}!")
else:
    print("I do not know who you are.")
