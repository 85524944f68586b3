"""Asks the model what to do and fetches what it names; gives up at the first address that cannot be fetched."""
import json
import os
import sys
from urllib.error import URLError
from urllib.request import Request, urlopen


def ask_model(messages):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    body = json.dumps({"model": "any", "messages": messages}).encode()
    with urlopen(Request(url, body, headers), timeout=30) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "user", "content": os.environ["TOUCHSTONE_TASK_PROMPT"]}]
while True:
    message = ask_model(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        print(message["content"])
        break
    for tool_call in message["tool_calls"]:
        url = json.loads(tool_call["function"]["arguments"])["url"]
        try:
            with urlopen(url, timeout=30) as answer:
                result = answer.read().decode()
        except URLError as error:
            sys.exit(f"cannot fetch {url}: {error}")
        messages.append({"role": "tool", "tool_call_id": tool_call["id"], "content": result})
