"""docker-compose.yml, brought up and used. `scripts/test-compose` prepares everything and runs this."""

import json
import os
import shlex
import subprocess
import sys
import time

import requests
from polarity_keystone import Keystone

from relay import Relay

COMPOSE = shlex.split(os.environ["COMPOSE"])
PROJECT = os.environ["COMPOSE_PROJECT_NAME"]
# How long anything may take.
PATIENCE = 180
SANDBOXES = "label=touchstone.data="
# The engine's socket as the workers see it: of a group that nobody on this machine is in. Only root can make one; for
# others it is the engine's own.
ENGINE = "/var/run/docker.sock"
SOCKET = os.environ["WORKER_SOCKET"]
GROUP = 45678 if os.geteuid() == 0 else os.stat(ENGINE).st_gid

SPEC = """\
version: 1
id: {name}
base: touchstone/debian:bookworm
task: {{ prompt: Write out.txt. }}
agent: {{ type: cli, command: "sleep {seconds}; printf done > out.txt", timeout: 1m }}
services:
  - {{ name: mail, type: http_mock, routes: [ {{ path: /, status: 204 }} ] }}
parallelism: {{ replicas: {replicas} }}
invariants:
  written:
    description: The file is there
    gate: true
    check: {{ type: file_content, path: out.txt, contains: done }}
"""


def run(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def compose(*words):
    return run(*COMPOSE, *words)


def until(what, true):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"{what} took too long: {compose('ps')}\n{compose('logs', '--tail', '40')}"
        time.sleep(0.5)


def containers(service, *more):
    label = f"label=com.docker.compose.service={service}"
    return run("docker", "ps", *more, "--quiet", "--no-trunc", "--filter", f"label=com.docker.compose.project={PROJECT}", "--filter", label).split()


def inspect(container):
    return json.loads(run("docker", "inspect", container))[0]


def healthy(service, number):
    ids = containers(service)
    return len(ids) == number and all(inspect(one)["State"]["Health"]["Status"] == "healthy" for one in ids)


def status_of(text):
    return {name: words.split() for name, _, words in (line.partition(":") for line in text.splitlines())}


def doctor(*options):
    label = ("--label", "touchstone=test", "--label", f"com.docker.compose.project={PROJECT}")
    words = ["docker", "run", "--rm", *label, *options, os.environ["TOUCHSTONE_IMAGE"], "doctor"]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


class Stack:
    """The stack, as those see it who use it."""

    def up(self):
        if SOCKET != ENGINE:
            self.relay = Relay(SOCKET, ENGINE, GROUP, 0o660)
        compose("up", "--detach", "--no-build")
        for service in ("postgres", "server", "worker"):
            until(service, lambda: healthy(service, 1))
        self.url = "http://" + compose("port", "server", "8012")
        self.data = compose("exec", "-T", "server", "cat", "/var/lib/touchstone/id")

    def the_first_start_prints_a_key_once(self):
        shown = [line.partition("TOUCHSTONE_API_KEY=")[2] for line in compose("logs", "--no-color", "server").splitlines()]
        keys = [key.strip() for key in shown if key]
        assert len(keys) == 1 and keys[0].startswith("ts_live_"), keys
        compose("restart", "--timeout", "30", "server")
        until("server", lambda: healthy("server", 1))
        self.url = "http://" + compose("port", "server", "8012")
        assert compose("logs", "--no-color", "server").count("TOUCHSTONE_API_KEY=") == 1

    def a_key_is_made_inside(self):
        key = compose("exec", "-T", "server", "touchstone", "key", "create", "--owner", "team", "--name", "compose")
        assert key.startswith("ts_live_"), key
        self.keystone = Keystone(api_key=key, base_url=self.url)
        assert requests.get(self.url + "/v1/specs", timeout=10).status_code == 401

    def nobody_has_more_rights_than_needed(self):
        needed = (("server", "1000:1000", [], ["volume"]), ("worker", "0:0", ["SETGID", "SETUID"], ["bind", "volume"]))
        for service, user, capabilities, mounts in needed:
            found = inspect(containers(service)[0])
            host = found["HostConfig"]
            assert found["Config"]["User"] == user, found["Config"]["User"]
            assert host["CapDrop"] == ["ALL"] and sorted(host["CapAdd"] or []) == capabilities and not host["Privileged"], host
            assert "no-new-privileges" in host["SecurityOpt"][0] and host["ReadonlyRootfs"], host
            assert sorted(mount["Type"] for mount in found["Mounts"]) == mounts, found["Mounts"]

    def nothing_of_root_is_left(self):
        # Engines add a user's own group to the groups of a container that starts as that user.
        for service, groups in (("server", [[], ["1000"]]), ("worker", [[str(GROUP)]])):
            status = status_of(compose("exec", "-T", service, "cat", "/proc/1/status"))
            assert status["Uid"] == status["Gid"] == ["1000"] * 4, status
            assert status["Groups"] in groups, status
            for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                assert int(status[name][0], 16) == 0, (name, status)
            assert status["NoNewPrivs"] == ["1"], status

    def a_container_that_cannot_leave_root_does_not_go_on(self):
        for name, change in (("neither", []), ("SETUID", ["--cap-add", "SETUID"]), ("SETGID", ["--cap-add", "SETGID"])):
            told = doctor("--user", "0:0", "--cap-drop", "ALL", *change)
            assert told.returncode == 4 and "capabilities SETUID and SETGID" in told.stderr, (name, told)
        # The user of the image never was root.
        told = doctor("--cap-drop", "ALL")
        assert "namespaces" in told.stdout and "SETUID" not in told.stderr, told

    def a_spec_is_run_through_the_stock_sdk(self):
        done = self.experiment("compose-one", 1, 0)
        assert (done.passed, done.total_scenarios) == (1, 1), done

    def experiment(self, name, replicas, seconds):
        self.keystone.specs.create(SPEC.format(name=name, replicas=replicas, seconds=seconds))
        experiment = self.keystone.experiments.create(name, name)
        return self.keystone.experiments.run_and_wait(experiment.id, poll_interval=0.5, timeout=PATIENCE)

    def two_workers_share_the_work(self):
        compose("up", "--detach", "--no-build", "--no-recreate", "--scale", "worker=2")
        until("two workers", lambda: healthy("worker", 2))
        done = self.experiment("compose-many", 8, 2)
        assert (done.passed, done.total_scenarios) == (8, 8), done
        worked = [subprocess.run(["docker", "logs", one], capture_output=True, text=True).stderr.count(": pass") for one in containers("worker")]
        assert sum(worked) == 9 and all(worked), worked

    def a_sandbox_is_used_through_a_control_port(self):
        sandboxes = [self.keystone.sandboxes.create("compose-one", timeout="5m") for _ in range(2)]
        for sandbox in sandboxes:
            until("a sandbox", lambda: sandbox.refresh().state != "creating")
            assert sandbox.state in ("ready", "running"), sandbox.info
            sandbox.write("/tmp/note", "by hand")
            done = sandbox.exec("cat /tmp/note; exit 3")
            assert (done.stdout, done.exit_code) == ("by hand", 3), done
        for sandbox in sandboxes:
            sandbox.destroy()

    def a_killed_worker_is_replaced(self):
        name = "compose-killed"
        self.keystone.specs.create(SPEC.format(name=name, replicas=2, seconds=4))
        experiment = self.keystone.experiments.create(name, name)
        self.keystone.experiments.run(experiment.id)
        until("sandboxes", lambda: len(self.sandboxes()) >= 2)
        victim = containers("worker")[0]
        run("docker", "kill", victim)
        done = lambda: self.keystone.experiments.get(experiment.id)
        until("the rest", lambda: (lambda now: now.passed + now.failed + now.errors + now.flaky == now.total_scenarios == 2)(done()))
        assert done().passed == 2, done()

    def sandboxes(self):
        return run("docker", "ps", "--all", "--quiet", "--filter", SANDBOXES + self.data).split()

    def nothing_is_left(self):
        # Somebody who was killed left something; whoever lives sweeps it.
        compose("exec", "-T", "worker", "touchstone", "sweep")
        assert not self.sandboxes(), self.sandboxes()
        compose("down", "--volumes", "--timeout", "60")
        for kind in (["ps", "--all"], ["volume", "ls"], ["network", "ls"]):
            for label in (SANDBOXES + self.data, f"label=com.docker.compose.project={PROJECT}"):
                left = run("docker", *kind, "--quiet", "--filter", label)
                assert not left, f"{kind} with {label}: {left}"


def main():
    stack = Stack()
    steps = [
        stack.up,
        stack.the_first_start_prints_a_key_once,
        stack.a_key_is_made_inside,
        stack.nobody_has_more_rights_than_needed,
        stack.nothing_of_root_is_left,
        stack.a_container_that_cannot_leave_root_does_not_go_on,
        stack.a_spec_is_run_through_the_stock_sdk,
        stack.two_workers_share_the_work,
        stack.a_sandbox_is_used_through_a_control_port,
        stack.a_killed_worker_is_replaced,
        stack.nothing_is_left,
    ]
    passed = failed = 0
    for step in steps:
        started = time.monotonic()
        try:
            step()
            passed += 1
            print(f"ok    {step.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAIL  {step.__name__}: {error}", flush=True)
            if step == stack.up:
                break
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
