"""An MCP server in front of a SQLite database, over standard input and output."""
import json
import sqlite3
import sys

db = sqlite3.connect("stock.db")
ITEM = {"type": "string"}
TOOLS = [
    {
        "name": "count",
        "description": "Count an item in stock",
        "inputSchema": {"type": "object", "properties": {"item": ITEM}, "required": ["item"]},
    },
    {
        "name": "take",
        "description": "Take items out of the stock. The same id takes them once.",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "item": ITEM, "count": {"type": "integer", "minimum": 1}},
            "required": ["id", "item", "count"],
        },
    },
]


def count(item):
    row = db.execute("select count from stock where item = ?", (item,)).fetchone()
    return row[0] if row else 0


def take(id, item, count):
    with db:
        if db.execute("insert or ignore into taken values (?, ?, ?)", (id, item, count)).rowcount:
            db.execute("update stock set count = count - ? where item = ?", (count, item))


def call(name, arguments):
    if name == "take":
        take(**arguments)
    left = {"left": count(arguments["item"])}
    return {"content": [{"type": "text", "text": json.dumps(left)}], "structuredContent": left}


def answer(method, params):
    if method == "initialize":
        info = {"name": "stock", "version": "1.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    return call(params["name"], params["arguments"]) if method == "tools/call" else {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
