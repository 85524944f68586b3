# Writes the server and its test, and runs the test before it says that it is done.
set -e

cat > server.py <<'PY'
"""A todo list over HTTP."""
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock

todos = {}
ids = count(1)
lock = Lock()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/todos":
            return self.answer(404, {"error": "no such path"})
        with lock:
            self.answer(200, list(todos.values()))

    def do_POST(self):
        if self.path != "/todos":
            return self.answer(404, {"error": "no such path"})
        title = self.title()
        if not title:
            return self.answer(400, {"error": "a title is needed"})
        with lock:
            todo = {"id": next(ids), "title": title, "done": False}
            todos[todo["id"]] = todo
        self.answer(201, todo)

    def do_DELETE(self):
        name = self.path.removeprefix("/todos/")
        with lock:
            todo = todos.pop(int(name), None) if name.isdecimal() else None
        if todo is None:
            return self.answer(404, {"error": "no such todo"})
        self.answer(204)

    def title(self):
        """The title in the request's body; None when the body has none."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            title = json.loads(body)["title"]
        except (ValueError, KeyError, TypeError):
            return None
        return title if isinstance(title, str) else None

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["TODO_PORT"])), Handler).serve_forever()
PY

cat > test_server.py <<'PY'
"""Starts the server and tests it from outside."""
import json
import os
import subprocess
import sys
import time
import unittest
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ADDRESS = f"http://127.0.0.1:{os.environ['TODO_PORT']}"


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(ADDRESS + path, data, method=method), timeout=5) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, b""


class Todos(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([sys.executable, "server.py"], stderr=subprocess.DEVNULL)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        for _ in range(50):
            self.assertIsNone(self.server.poll(), "the server ended")
            try:
                return call("GET", "/todos")
            except OSError:
                time.sleep(0.1)
        self.fail("the server does not answer")

    def test_a_todo_lives_and_dies(self):
        status, body = call("POST", "/todos", {"title": "water the plants"})
        self.assertEqual(status, 201)
        self.assertEqual(json.loads(body), {"id": 1, "title": "water the plants", "done": False})
        self.assertEqual(len(json.loads(call("GET", "/todos")[1])), 1)
        self.assertEqual(call("DELETE", "/todos/1")[0], 204)
        self.assertEqual(call("DELETE", "/todos/1")[0], 404)

    def test_a_title_is_needed(self):
        self.assertEqual(call("POST", "/todos", {})[0], 400)


if __name__ == "__main__":
    unittest.main()
PY

python3 test_server.py
echo "The server and its test are written, and the test passes."
