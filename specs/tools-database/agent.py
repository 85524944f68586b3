"""Takes lamps out of the stock. A call whose answer is lost is made again with the same id, so that it counts once."""
import http.client
import json
import os
import urllib.error
import urllib.request

# Each request stands alone: MCP 2026-07-28 has no sessions.
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "stock-agent", "version": "1.0"},
}


def ask(method, **params):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(os.environ["TOUCHSTONE_MCP_URL"], json.dumps(message).encode(), headers)
    for _ in range(3):
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return json.load(response)["result"]
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError) as problem:
            print(f"{method} was not answered ({problem}), again")
    raise SystemExit(f"{method} was never answered")


ask("server/discover")
result = ask("tools/call", name="take", arguments={"id": "order-1", "item": "lamp", "count": 5})
print(f"{result['structuredContent']['left']} lamps are left.")
