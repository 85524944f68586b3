"""An agent that speaks MCP with nothing but Python's own library."""
import json
import os
import urllib.error
import urllib.request

URL = os.environ["TOUCHSTONE_MCP_URL"]
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "note-agent", "version": "1.0"}}
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
    with urllib.request.urlopen(request, timeout=20) as response:
        session = response.headers.get("Mcp-Session-Id") or session
        return json.load(response)


def begin():
    global session
    session = None
    ask("initialize", CLIENT)


def call(tool, **arguments):
    """Calls a tool until it does not fail, in another session where the first one is gone."""
    for _ in range(3):
        try:
            answer = ask("tools/call", {"name": tool, "arguments": arguments})
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            begin()
            continue
        if not answer["result"].get("isError"):
            return answer["result"]["content"][0]["text"]
        print(f"{tool} failed: {answer['result']['content'][0]['text']}")
    raise SystemExit(f"{tool} failed three times")


begin()
print("tools:", ", ".join(tool["name"] for tool in ask("tools/list", {})["result"]["tools"]))
call("write_note", name="tuesday.txt", text="Call Ada back\n")
print(call("read_note", name="tuesday.txt"), end="")
