"""Asks the model more often than it should."""
import json
import os
import sys
from urllib.request import Request, urlopen

model, calls, size = sys.argv[1], int(sys.argv[2]), sys.argv[3]
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
body = {"model": model, "messages": [{"role": "user", "content": f"Are you satisfied? Give me a {size} answer."}]}
for _ in range(calls):
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"]
    # In one step: whoever is stopped by a limit leaves the whole of an answer.
    with open("answer.new", "w") as file:
        file.write(said + "\n")
    os.replace("answer.new", "answer.txt")
