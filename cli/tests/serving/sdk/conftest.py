"""What the tests of the stock SDK share: a live server, clients, and specs.

The server is named by TOUCHSTONE_URL and TOUCHSTONE_KEY; `scripts/test-sdk` starts one.
"""

import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from polarity_keystone import Keystone

URL = os.environ["TOUCHSTONE_URL"]
KEY = os.environ["TOUCHSTONE_KEY"]
BASE = "touchstone/debian:bookworm"
WITH_SDK = "touchstone-test/sdks:1"


@pytest.fixture(scope="session")
def keystone():
    return Keystone(api_key=KEY, base_url=URL + "/")


class Raw:
    """Requests as they are, for what an SDK hides."""

    def __call__(self, method, path, **options):
        headers = {"Authorization": f"Bearer {KEY}", **options.pop("headers", {})}
        return requests.request(method, URL + path, headers=headers, timeout=30, **options)


@pytest.fixture(scope="session")
def raw():
    return Raw()


@pytest.fixture(scope="session", autouse=True)
def slow(keystone, raw):
    """Calls that would take minutes if they were let: how long each took, and its answer. They begin before all tests."""

    def timed(method, path, **options):
        started = time.monotonic()
        reply = raw(method, path, **options)
        return time.monotonic() - started, reply

    keystone.specs.create(spec("sdk-slow", "sleep 100"))
    experiment = keystone.experiments.create("slow", spec_id="sdk-slow")
    experiment.run()
    sandbox = keystone.sandboxes.create("sdk-slow", timeout="10m")
    deadline = time.monotonic() + 60
    while sandbox.refresh().state == "creating":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    with ThreadPoolExecutor() as pool:
        yield [
            pool.submit(timed, "GET", f"/v1/experiments/{experiment.id}?wait=10m"),
            pool.submit(timed, "POST", f"/v1/sandboxes/{sandbox.id}/commands", json={"command": "sleep 100", "timeout": "10m"}),
        ]
    sandbox.destroy()


@pytest.fixture
def name():
    """An id that no other test has."""
    return f"sdk-{uuid.uuid4().hex[:10]}"


def spec(name, command="printf done > out.txt; echo finished", more="", base=BASE, wanted="done"):
    return f"""\
version: 1
id: {name}
description: A spec of the SDK's tests
base: {base}
task:
  prompt: Write out.txt.
agent: {{ type: cli, command: {command!r}, timeout: 30s }}
{more}
invariants:
  written:
    description: The file is there
    gate: true
    check: {{ type: file_content, path: out.txt, contains: {wanted!r} }}
"""


def finished(keystone, yaml, name, **options):
    """Uploads a spec, runs it, and waits for its end."""
    keystone.specs.create(yaml)
    experiment = keystone.experiments.create(name, spec_id=name, **options)
    return experiment, experiment.run_and_wait(poll_interval=0.2, timeout=120)
