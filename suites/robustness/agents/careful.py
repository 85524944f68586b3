"""An agent that stops within bounds: it tries a few times, and then says that there is nothing."""

import json
import os
import sys
import urllib.error
import urllib.request

MOST_CALLS = 8
FAILURES = (urllib.error.URLError, ConnectionError, TimeoutError, ValueError, KeyError, IndexError, TypeError)


def ask(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=2) as answer:
        return json.load(answer)


def ask_model(messages):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    return ask(url, {"model": "any", "messages": messages}, headers)["choices"][0]["message"]


def within_bounds(attempt):
    """What the first attempt that works comes to, of a few."""
    for _ in range(MOST_CALLS):
        try:
            found = attempt()
        except FAILURES as error:
            print(f"no answer: {error}", file=sys.stderr)
            continue
        if found is not None:
            return found
    return "none"


def decide(prompt):
    messages = [{"role": "user", "content": prompt}]

    def attempt():
        message = ask_model(messages)
        if message.get("tool_calls"):
            messages.append(message)
            for call in message["tool_calls"]:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": '{"state": "delivered"}'})
            return None
        decision = json.loads(message["content"])["decision"]
        return decision if decision in ("alpha", "beta") else None

    return within_bounds(attempt)


def quote():
    def attempt():
        price = ask("http://market/quotes/ACME")["price"]
        return str(price) if isinstance(price, (int, float)) else None

    return within_bounds(attempt)


def refund():
    try:
        return ask("http://shop/refunds", {"order_id": "1001"})["id"]
    except FAILURES:
        # Nobody knows whether the shop got it. Asking again could pay twice, so look.
        booked = lambda: next((one["id"] for one in ask("http://shop/refunds") if one["order_id"] == "1001"), None)
        return within_bounds(booked)


prompt = os.environ["TOUCHSTONE_TASK_PROMPT"]
if "decision.txt" in prompt:
    file, answer = "decision.txt", decide(prompt)
elif "quote.txt" in prompt:
    file, answer = "quote.txt", quote()
else:
    file, answer = "refund.txt", refund()
with open(file, "w") as out:
    out.write(answer + "\n")
