"""Two roles in one program: a dispatcher that looks orders up, and a payer that claims what it hands over."""
import hashlib
import json
import os
from urllib.request import Request, urlopen


def post(url, body, token=None, headers=()):
    headers = {"Content-Type": "application/json", "Accept": "application/json", **dict(headers)}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def api(path, body, token=None):
    return post(os.environ["TOUCHSTONE_BASE_URL"] + path, body, token or os.environ["TOUCHSTONE_API_KEY"])


def mcp(method, params, token):
    # Without a token, a call belongs to the session with which the agent began.
    headers = {"X-Touchstone-Session": token} if token else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return post(os.environ["TOUCHSTONE_MCP_URL"], body, headers=headers)["result"]


def ask_model(messages, tools, token):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    body = {"model": "support-model", "messages": messages, "tools": tools}
    return post(url, body, token or os.environ["OPENAI_API_KEY"])["choices"][0]["message"]


def work(task, token=None):
    """Works on a task in the session of a token; what the model says, and the last result of a tool."""
    messages, result = [{"role": "user", "content": task}], None
    for _ in range(8):
        offered = mcp("tools/list", {}, token)["tools"]
        tools = [
            {"type": "function", "function": {"name": tool["name"], "parameters": tool["inputSchema"]}}
            for tool in offered
        ]
        message = ask_model(messages, tools, token)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"], result
        for call in message["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"] or "{}")
            params = {"name": call["function"]["name"], "arguments": arguments, "_meta": {"tool_call_id": call["id"]}}
            result = mcp("tools/call", params, token)["content"][0]["text"]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    raise SystemExit("the model does not come to an end")


# The dispatcher.
plan, order = work(os.environ["TOUCHSTONE_TASK_PROMPT"])
artifact = {
    "name": "order",
    "sha256": hashlib.sha256(order.encode()).hexdigest(),
    "bytes": len(order.encode()),
    "media_type": "application/json",
}
handoff = api("/v1/handoffs", {"to": "payer", "artifacts": [artifact]})["handoff"]

# The payer, with a token of its own.
token = api(f"/v1/handoffs/{handoff}/claim", {"role": "payer"})["token"]
answer, _ = work(f"{plan}\n{order}", token)
api("/v1/sessions/self/close", {}, token)
print(answer)
