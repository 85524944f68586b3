"""Lets the model rate a text."""
import json
import os
from pathlib import Path
from urllib.request import Request, urlopen

question = 'Rate this text from 0 to 1. Answer with JSON only: {"score": 0.0}\n' + Path("text.txt").read_text()
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
body = {"model": "any", "messages": [{"role": "user", "content": question}]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
    Path("rating.json").write_text(json.load(answer)["choices"][0]["message"]["content"] + "\n")
