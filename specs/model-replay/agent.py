"""Asks the model for two translations."""
import json
import os
import time
from pathlib import Path
from urllib.request import Request, urlopen


def ask(question):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    messages = [{"role": "system", "content": f"It is {time.ctime()}."}, {"role": "user", "content": question}]
    body = {"model": "gpt-4o-mini", "messages": messages}
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


text = Path("hello.txt").read_text().strip()
for language in ["French", "German"]:
    Path(f"{language.lower()}.txt").write_text(ask(f"Translate to {language}: {text}") + "\n")
