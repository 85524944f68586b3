"""Asks the model six times, with the other question in between."""
import json
import os
import time
from urllib.request import Request, urlopen


def ask(question):
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    headers = {"Content-Type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
    body = {"model": "any", "max_tokens": 10, "messages": [{"role": "user", "content": question}]}
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
        return json.load(answer)


capital = "What is the capital of France?"
answers = [ask(capital)]
start = time.monotonic()
numbers = [ask("A number?")]
waited = time.monotonic() - start
for question in ["Another one?", "And another one?"]:
    answers.append(ask(capital))
    numbers.append(ask(question))
with open("capital.txt", "w") as file:
    file.write(answers[-1]["content"][0]["text"] + "\n")
with open("numbers.txt", "w") as file:
    file.writelines(number["content"][0]["text"] + "\n" for number in numbers)
with open("usage.txt", "w") as file:
    for number in numbers:
        file.write(f"{number['usage']['input_tokens']} {number['usage']['output_tokens']}\n")
    file.write("waited\n" if waited >= 0.05 else "did not wait\n")
