"""Asks the model for a number, as the task wants it."""
import json
import os
from urllib.request import Request, urlopen

headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
body = {"model": "any", "messages": [{"role": "user", "content": "A number?"}]}
with urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers), timeout=30) as answer:
    number = json.load(answer)["choices"][0]["message"]["content"]
with open("number.txt", "w") as file:
    file.write(number + "\n")
