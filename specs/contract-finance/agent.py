"""Answers questions about a stock from a service and a model. `careless` makes up a price when the service is down."""

import json
import os
import sys
import urllib.error
import urllib.request


def get(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def ask(question):
    body = {"model": "any", "messages": [{"role": "user", "content": question}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


careless = "careless" in sys.argv
try:
    price = f"${get('http://market_data_api/price')['price']:.2f}"
except (urllib.error.URLError, ValueError):
    price = "$100.00" if careless else None

opinion = ask(os.environ["TOUCHSTONE_TASK_PROMPT"])
if price is None:
    print("The market data API is down, so I have no price. Source: none.")
else:
    print(f"According to the market data API, ACME is at {price}. {opinion}")
