"""An agent that speaks MCP with nothing but Python's own library."""
import json
import os
import urllib.request

URL = os.environ["TOUCHSTONE_MCP_URL"]
session = None
number = 0


def ask(method, params):
    global session, number
    number += 1
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    request = urllib.request.Request(URL, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request) as response:
        session = response.headers.get("Mcp-Session-Id") or session
        return json.load(response)


def call(tool, **arguments):
    answer = ask("tools/call", {"name": tool, "arguments": arguments})
    if "error" in answer:
        return answer["error"]["message"], True
    result = answer["result"]
    return result["content"][0]["text"], result.get("isError", False)


client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "note-agent", "version": "1.0"}}
ask("initialize", client)
print("tools:", ", ".join(tool["name"] for tool in ask("tools/list", {})["result"]["tools"]))
call("write_note", name="tuesday.txt", text="Call Ada back\n")
print(call("read_note", name="tuesday.txt")[0], end="")
print(call("delete_all"))
