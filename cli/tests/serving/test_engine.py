"""A Docker engine that is restarted in the middle of a run. It is an engine of its own, so nobody else's containers notice."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from processes import PATIENCE, Case

IMAGE = "touchstone/busybox:1"
COUNT = 2
# For how long there is no engine: longer than the attempts of a job take that fail at once.
AWAY = 8
SPEC = f"""\
version: 1
id: engine
base: {IMAGE}
task: {{ prompt: x }}
agent: {{ type: cli, command: "sleep 2; touch out" }}
resources: {{ memory: 64Mi, disk: 16Mi }}
parallelism: {{ replicas: {COUNT} }}
invariants: {{ there: {{ description: x, check: {{ type: file_exists, path: out }} }} }}
"""


class Engine:
    """A Docker engine with folders and a network namespace of its own: engines that share one take each other's bridges away."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="touchstone-engine-")
        self.host = f"unix://{self.folder}/docker.sock"
        driver = subprocess.run(["docker", "info", "--format", "{{.Driver}}"], capture_output=True, text=True, check=True).stdout.strip()
        with open(self.path("config.json"), "w") as file:
            json.dump({"data-root": self.path("data"), "exec-root": self.path("exec"), "pidfile": self.path("pid"), "hosts": [self.host],
                       "storage-driver": driver, "bridge": "none", "iptables": False}, file)
        self.start()
        image = subprocess.Popen(["docker", "save", IMAGE], stdout=subprocess.PIPE)
        subprocess.run(["docker", "--host", self.host, "load", "--quiet"], stdin=image.stdout, capture_output=True, check=True)
        assert image.wait() == 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        """Starts it, again and again until it stays, as an init does."""
        self.child, deadline = None, time.monotonic() + PATIENCE
        while not self.child or subprocess.run(["docker", "--host", self.host, "version"], capture_output=True).returncode:
            assert time.monotonic() < deadline, open(self.path("log")).read()[-2000:]
            if not self.child or self.child.poll() is not None:
                with open(self.path("log"), "a") as log:
                    self.child = subprocess.Popen(["unshare", "--net", "dockerd", "--config-file", self.path("config.json")], stdout=log, stderr=log)
            time.sleep(0.1)

    def restart(self, how, after):
        self.child.send_signal(how)
        self.child.wait(PATIENCE)
        time.sleep(after)
        self.start()

    def end(self):
        self.child.terminate()
        self.child.wait(PATIENCE)
        with open("/proc/mounts") as mounts:
            for place in [line.split()[1] for line in mounts if line.split()[1].startswith(self.folder)]:
                subprocess.run(["umount", "--lazy", place], capture_output=True)
        shutil.rmtree(self.folder)


def docker(*words):
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout.split()


def until(true, case):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, case.worker.tail()
        time.sleep(0.1)


@pytest.fixture
def engine(monkeypatch):
    if os.getuid() != 0 or not shutil.which("dockerd"):
        assert not os.environ.get("TOUCHSTONE_REQUIRE_TOOLS"), "an engine of its own needs root and dockerd"
        pytest.skip("an engine of its own needs root and dockerd")
    engine = Engine()
    monkeypatch.setenv("DOCKER_HOST", engine.host)
    yield engine
    engine.end()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_that_is_restarted_costs_time_and_no_results(engine, how):
    case = Case("sqlite")
    try:
        experiment = case.submit(SPEC)
        case.worker.wait_for(": the agent acts")
        engine.restart(how, after=AWAY)
        body = case.results(experiment)
        assert (body["total_scenarios"], body["passed"]) == (COUNT, COUNT), (body, case.worker.tail())
        assert len({row["scenario_id"] for row in body["scenarios"]}) == COUNT
        # An engine that ends in good order takes its containers with it; otherwise they may live on.
        assert how == signal.SIGKILL or not any(row["sandbox_id"].endswith("-1") for row in body["scenarios"])
        # What could not be removed while the engine was away is removed by the worker that lives on.
        until(lambda: not docker("container", "ls", "-aq"), case)
    finally:
        left = case.end()
    assert left == []
