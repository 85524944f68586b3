"""Servers and workers as processes of their own, with a database that can be cut off."""

import json
import os
import queue
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BINARY = os.environ.get("TOUCHSTONE_BINARY") or os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "debug/touchstone")
# How long anything may take.
PATIENCE = 90
LEASE = "2s"
# Longer than a lease.
OUTAGE = 3.0


class Failed(Exception):
    pass


class Process:
    """A process of ours that is watched, and goes with the case."""

    def __init__(self, arguments, environment):
        self.arguments, self.environment = arguments, environment
        self.lines, self.told = queue.Queue(), []
        self.start()

    def start(self):
        self.child = subprocess.Popen([BINARY, *self.arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        threading.Thread(target=self.watch, args=(self.child, self.lines), daemon=True).start()

    def watch(self, child, lines):
        for line in child.stdout:
            self.told.append(line.rstrip())
            lines.put(line)
        lines.put(None)

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"no line with {text!r}: {self.tail()}")
            if line is None:
                raise Failed(f"ended before a line with {text!r}: {self.tail()}")
            if text in line:
                return line

    def tail(self):
        return "\n    ".join([""] + self.told[-12:])

    def kill(self):
        self.child.kill()
        self.child.wait()

    def again(self):
        self.lines = queue.Queue()
        self.start()

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Failed(f"did not end when it was asked to: {self.tail()}")


class Proxy:
    """A way to a TCP server that can be cut."""

    def __init__(self, host, port):
        self.target, self.pairs, self.open = (host, port), [], True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if not self.open:
                client.close()
                continue
            server = socket.create_connection(self.target)
            self.pairs.append((client, server))
            for one, other in [(client, server), (server, client)]:
                threading.Thread(target=self.pump, args=(one, other), daemon=True).start()

    @staticmethod
    def pump(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self, seconds):
        self.open = False
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs.clear()
        time.sleep(seconds)
        self.open = True

    def close(self):
        self.listener.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Case:
    """A server, a worker, and their database."""

    def __init__(self, database):
        self.folder = tempfile.mkdtemp(prefix="touchstone-crash-")
        self.data, self.database, self.proxy, self.name = os.path.join(self.folder, "data"), database, None, None
        self.server = self.worker = None
        self.workers = []
        arguments = ["--data-dir", self.data]
        if database == "postgres":
            admin = os.environ["TOUCHSTONE_TEST_DATABASE_URL"]
            self.name = f"touchstone_crash_{os.getpid()}_{id(self):x}"
            postgres(f"CREATE DATABASE {self.name}")
            head, _, rest = admin.partition("@")
            address, _, _ = rest.partition("/")
            host, _, port = address.partition(":")
            self.proxy = Proxy(host, int(port or 5432))
            arguments += ["--database-url", f"{head}@127.0.0.1:{self.proxy.port}/{self.name}"]
        self.port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHSTONE_")}
        environment.pop("DATABASE_URL", None)
        patience = ["--lease", LEASE, "--poll", "200ms"]
        self.server = Process(["serve", "--no-worker", "--no-auth", "--listen", f"127.0.0.1:{self.port}", *arguments], environment)
        self.server.wait_for("serving on")
        self.work = (["worker", "--no-pull", "--verbose", "--max-concurrent", "2", *patience, *arguments], environment)
        self.worker = self.another_worker()
        self.workers = [self.worker]

    def another_worker(self):
        worker = Process(*self.work)
        worker.wait_for("working")
        return worker

    def ask(self, method, path, body=None):
        """Asks until the server answers: a client that is told to come back does."""
        deadline = time.monotonic() + PATIENCE
        headers = {"Content-Type": "application/x-yaml", "Idempotency-Key": "crash"} if body else {}
        while True:
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, method=method, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=20) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise Failed(f"{method} {path}: {error.code} {error.read()[:300]}")
            except (OSError, ValueError):
                pass
            if time.monotonic() > deadline:
                raise Failed(f"{method} {path}: no answer; server: {self.server.tail()}")
            time.sleep(0.1)

    def submit(self, spec):
        return self.ask("POST", "/v1/runs", spec.encode())["experiment_id"]

    def results(self, experiment, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while True:
            body = self.ask("GET", f"/v1/experiments/{experiment}")
            if body["total_scenarios"] and sum(body[name] for name in ("passed", "failed", "flaky", "errors")) >= body["total_scenarios"]:
                return body
            if time.monotonic() > deadline:
                short = {name: body[name] for name in ("total_scenarios", "passed", "failed", "flaky", "errors")}
                raise Failed(f"not ended: {short}; worker: {self.worker.tail()}\n  server: {self.server.tail()}")
            time.sleep(0.1)

    def strike(self, target):
        hit = {"server": [self.server], "worker": [self.worker], "both": [self.server, self.worker], "database": []}[target]
        for process in hit:
            process.kill()
        if target == "database":
            self.cut()
        for process in hit:
            process.again()

    def cut(self):
        if self.proxy:
            return self.proxy.cut(OUTAGE)
        connection = sqlite3.connect(os.path.join(self.data, "touchstone.db"), timeout=30, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        time.sleep(OUTAGE)
        connection.execute("ROLLBACK")
        connection.close()

    def end(self):
        problems = []
        for process in [*self.workers, self.server]:
            try:
                if process:
                    process.end()
            except Failed as problem:
                problems.append(str(problem))
        subprocess.run([BINARY, "sweep", "--data-dir", self.data], capture_output=True, timeout=PATIENCE)
        left = self.left()
        if left:
            problems.append(f"left behind: {left}")
            for thing in left:
                kind, _, name = thing.partition(" ")
                if kind in ("container", "volume", "network"):
                    subprocess.run(["docker", kind, "rm", "-f", name], capture_output=True)
        if self.proxy:
            self.proxy.close()
            postgres(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
        shutil.rmtree(self.folder, ignore_errors=True)
        return problems

    def left(self):
        with open(os.path.join(self.data, "id")) as file:
            label = f"label=touchstone.data={file.read().strip()}"
        left = []
        for kind, more in [("container", ["-aq"]), ("volume", ["-q"]), ("network", ["-q"])]:
            listed = subprocess.run(["docker", kind, "ls", *more, "--filter", label], capture_output=True, text=True, check=True)
            left += [f"{kind} {line}" for line in listed.stdout.split()]
        for folder in ("doors", "scratch", "owners", "kept"):
            path = os.path.join(self.data, folder)
            left += [os.path.join(path, name) for name in (os.listdir(path) if os.path.isdir(path) else [])]
        return left


def postgres(statement):
    done = subprocess.run(["docker", "exec", "touchstone-test-postgres", "psql", "-q", "-U", "postgres", "-c", statement], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{statement}: {done.stderr}")
