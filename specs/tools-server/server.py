"""An MCP server of one file: notes in a folder, over standard input and output."""
import json
import pathlib
import sys

NOTES = pathlib.Path("notes")
TOOLS = [
    {
        "name": "read_note",
        "description": "Read a note",
        "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
    {
        "name": "write_note",
        "description": "Write a note",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "text": {"type": "string"}},
            "required": ["name", "text"],
        },
    },
    {"name": "delete_all", "description": "Delete every note", "inputSchema": {"type": "object"}},
]


def text(value, error=False):
    return {"content": [{"type": "text", "text": value}], "isError": error}


def call(name, arguments):
    path = NOTES / pathlib.Path(arguments.get("name", "")).name
    if name == "read_note":
        return text(path.read_text()) if path.is_file() else text(f"there is no note {path.name}", error=True)
    if name == "write_note":
        NOTES.mkdir(exist_ok=True)
        path.write_text(arguments["text"])
        return text("written")
    for note in NOTES.iterdir():
        note.unlink()
    return text("deleted")


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
