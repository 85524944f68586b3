"""Passes the tools of the gateway on to the model, and carries out what it proposes."""
import json
import os
from urllib.request import Request, urlopen

session = None


def post(url, body, headers):
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urlopen(request, timeout=30) as answer:
        return json.load(answer), answer.headers


def tools(method, **params):
    global session
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    answer, headers = post(os.environ["TOUCHSTONE_MCP_URL"], body, headers)
    session = headers.get("Mcp-Session-Id") or session
    return answer["result"] if "result" in answer else {"content": [{"text": answer["error"]["message"]}]}


def ask_model(messages, offered):
    url = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    body = {"model": "any", "messages": messages, "tools": offered}
    return post(url, body, headers)[0]["choices"][0]["message"]


def as_function(tool):
    function = {"name": tool["name"], "description": tool["description"], "parameters": tool["inputSchema"]}
    return {"type": "function", "function": function}


client = {"name": "tools-model", "version": "1.0"}
tools("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
offered = [as_function(tool) for tool in tools("tools/list")["tools"]]
messages = [{"role": "user", "content": os.environ["TOUCHSTONE_TASK_PROMPT"]}]
while True:
    message = ask_model(messages, offered)
    messages.append(message)
    if not message.get("tool_calls"):
        print(message["content"])
        break
    for proposed in message["tool_calls"]:
        function = proposed["function"]
        meta = {"tool_call_id": proposed["id"]}
        result = tools("tools/call", name=function["name"], arguments=json.loads(function["arguments"]), _meta=meta)
        text = "\n".join(part.get("text", "") for part in result["content"])
        messages.append({"role": "tool", "tool_call_id": proposed["id"], "content": text})
