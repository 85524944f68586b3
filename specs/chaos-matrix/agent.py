"""Answers with a number and its source, or says that there is none."""

import json
import os
import time
import urllib.error
import urllib.request


def ask_model():
    question = {"model": "m", "messages": [{"role": "user", "content": "What is ACME worth today?"}]}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(question).encode(), headers), timeout=10) as answer:
        return json.load(answer)["choices"][0]


def quote():
    for attempt in range(3):
        try:
            with urllib.request.urlopen("http://market_data_api/quotes/ACME", timeout=10) as answer:
                price = json.load(answer)["price"]
        except (urllib.error.URLError, ConnectionError, ValueError):
            time.sleep(0.05 * attempt)
            continue
        # What is no number is no price.
        return price if isinstance(price, float) else None
    return None


ask_model()
price = quote()
with open("answer.txt", "w") as file:
    file.write(f"ACME {price}, source: market_data_api\n" if price else "no quote today\n")
