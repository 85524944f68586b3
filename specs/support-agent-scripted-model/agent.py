"""A support agent: asks a model what to do, runs the tools that it calls, and writes its last words to reply.txt."""
import json
import os
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

MOST_TURNS = 8
SYSTEM = "You are a support agent of a shop. Look an order up before you refund it, and refund no more than was paid."


def tool(name, description, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    tool("lookup_order", "Shows an order.", order_id={"type": "string"}),
    tool("refund_order", "Pays money back.", order_id={"type": "string"}, amount={"type": "number"}),
]


def call(url, body=None, headers=()):
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json", **dict(headers)})
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def ask_model(messages):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    # Twice, as clients do whose first answer got lost on the way: what the model said then must not count.
    for _ in range(2):
        answer = call(url, {"model": "support-model", "messages": messages, "tools": TOOLS}, headers)
    return answer["choices"][0]["message"]


def run_tool(name, arguments):
    """The answer of a tool. What goes wrong is an answer too, because the model can do better next time."""
    shop = os.environ["SHOP"]
    # Models like to write #1001; the shop knows 1001.
    order = str(arguments.get("order_id", "")).lstrip("#")
    try:
        if name == "lookup_order":
            return call(f"{shop}/orders/{order}")
        if name == "refund_order":
            # The model is not trusted with money: what was paid is asked for again.
            paid = call(f"{shop}/orders/{order}")["paid"]
            if not 0 < float(arguments["amount"]) <= paid:
                return {"error": f"at most {paid} can be refunded"}
            return call(f"{shop}/refunds", {"order_id": order, "amount": float(arguments["amount"])})
        return {"error": f"there is no tool {name}"}
    except HTTPError as error:
        return {"error": f"the shop answers {error.code}"}
    except (KeyError, TypeError, ValueError) as error:
        return {"error": f"wrong arguments: {error}"}


messages = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": os.environ["TOUCHSTONE_TASK_PROMPT"]},
]
for _ in range(MOST_TURNS):
    message = ask_model(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        Path("reply.txt").write_text(message["content"] + "\n")
        print(message["content"])
        break
    for tool_call in message["tool_calls"]:
        function = tool_call["function"]
        result = run_tool(function["name"], json.loads(function["arguments"] or "{}"))
        print(f"{function['name']}({function['arguments']}) -> {result}")
        messages.append({"role": "tool", "tool_call_id": tool_call["id"], "content": json.dumps(result)})
else:
    raise SystemExit(f"no end after {MOST_TURNS} turns")
