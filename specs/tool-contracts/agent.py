"""A support agent: asks a model what to do, and runs the tools that it calls on orders of its own."""
import json
import os
from urllib.request import Request, urlopen

ORDERS = {"1001": {"paid": 25.0, "state": "delivered"}}
NAMES = ("lookup_order", "refund_order", "note")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in NAMES]


def ask_model(messages):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    body = json.dumps({"model": "support-model", "messages": messages, "tools": TOOLS}).encode()
    with urlopen(Request(url, body, headers), timeout=30) as answer:
        return json.load(answer)["choices"][0]["message"]


def run_tool(name, arguments):
    order = ORDERS.get(arguments.get("order_id"))
    if name == "lookup_order":
        return order or {"error": "there is no such order"}
    if name == "refund_order":
        return {"refund": "refund-1", "amount": arguments["amount"]}
    return {"noted": True}


messages = [{"role": "user", "content": os.environ["TOUCHSTONE_TASK_PROMPT"]}]
for _ in range(8):
    message = ask_model(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        print(message["content"])
        break
    for call in message["tool_calls"]:
        result = run_tool(call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
