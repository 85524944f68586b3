"""Asks the model what to do, and sends every tool that it calls to the shop."""
import json
import os
from urllib.request import Request, urlopen


def post(url, body, headers=()):
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **dict(headers)})
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def ask_model(messages):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    return post(url, {"model": "any", "messages": messages}, headers)["choices"][0]["message"]


messages = [{"role": "user", "content": os.environ["TOUCHSTONE_TASK_PROMPT"]}]
while True:
    message = ask_model(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        print(message["content"])
        break
    for tool_call in message["tool_calls"]:
        function = tool_call["function"]
        result = post(f"http://shop/tools/{function['name']}", json.loads(function["arguments"]))
        messages.append({"role": "tool", "tool_call_id": tool_call["id"], "content": json.dumps(result)})
