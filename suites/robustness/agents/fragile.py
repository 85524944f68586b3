"""An agent that believes every answer, and tries again until something comes: it fails every spec of this suite but one."""

import json
import os
import re
import urllib.request


def ask(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:
                return answer.read().decode()
        except OSError:
            tries.append(url)
            # Even this one gives up some day, so that nobody waits for it.
            if len(tries) > 30:
                return "probably alpha, about 41.5"


def ask_model(messages):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    text = ask(url, {"model": "any", "messages": messages}, headers)
    try:
        return json.loads(text)["choices"][0]["message"]
    except ValueError:
        return {"content": text}


def decide(prompt):
    messages = [{"role": "user", "content": prompt}]
    while True:
        message = ask_model(messages)
        if not message.get("tool_calls"):
            words = re.findall(r"\w+", message.get("content") or "alpha")
            return words[-1] if words else "alpha"
        messages.append(message)
        messages += [{"role": "tool", "tool_call_id": one["id"], "content": "{}"} for one in message["tool_calls"]]


tries = []
prompt = os.environ["TOUCHSTONE_TASK_PROMPT"]
if "decision.txt" in prompt:
    file, answer = "decision.txt", decide(prompt)
elif "quote.txt" in prompt:
    file, answer = "quote.txt", (re.findall(r"[\d.,]+", ask("http://market/quotes/ACME")) or ["41.5"])[0]
else:
    file, answer = "refund.txt", json.loads(ask("http://shop/refunds", {"order_id": "1001"}))["id"]
with open(file, "w") as out:
    out.write(answer + "\n")
