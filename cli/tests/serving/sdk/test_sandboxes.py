"""Sandboxes as tools, and what an SDK does inside one."""

import textwrap
import time

import pytest
from polarity_keystone import Keystone
from polarity_keystone.types import KeystoneError

from conftest import URL, WITH_SDK, finished, spec


@pytest.fixture(scope="module")
def sandbox(keystone):
    name = "sdk-tools"
    keystone.specs.create(spec(name, more="services:\n  - { name: mail, type: http_mock, routes: [ { path: /, status: 204 } ] }"))
    made = keystone.sandboxes.create(name, timeout="10m", metadata={"who": "sdk"})
    deadline = time.monotonic() + 60
    while made.refresh().state == "creating":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert made.state in ("ready", "running"), made.info
    yield made
    made.destroy()


def test_a_sandbox_is_described(keystone, sandbox):
    assert sandbox.id.startswith("sb-") and sandbox.spec_id == "sdk-tools" and sandbox.metadata["who"] == "sdk"
    assert sandbox.services["mail"].ready and sandbox.services["mail"].port == 80
    assert sandbox.id in [one.id for one in keystone.sandboxes.list()]


def test_commands_run_in_it(sandbox):
    done = sandbox.exec("echo out; echo err >&2; exit 3", timeout="10s")
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 3) and done.duration_ms >= 0
    assert sandbox.exec("sleep 30", timeout="1s").exit_code == 124


def test_files_are_written_read_and_removed_also_by_absolute_paths(sandbox):
    sandbox.write("notes/a.txt", "in the workspace")
    assert sandbox.read("notes/a.txt") == b"in the workspace"
    sandbox.write("/tmp/b.txt", "elsewhere")
    assert sandbox.read("/tmp/b.txt") == b"elsewhere"
    assert sandbox.exec("cat /tmp/b.txt notes/a.txt").stdout == "elsewherein the workspace"
    sandbox.exec("printf '\\000\\377' > bytes")
    assert sandbox.read("bytes") == b"\x00\xff"
    sandbox.delete("/tmp/b.txt")
    with pytest.raises(KeystoneError) as refused:
        sandbox.read("/tmp/b.txt")
    assert refused.value.status_code == 404


def test_no_call_takes_longer_than_clients_wait(slow):
    """Item 13 of the checklist."""
    for call in slow:
        seconds, reply = call.result()
        assert seconds < 30 and reply.status_code == 200, (seconds, reply.text)
    assert slow[1].result()[1].json()["exit_code"] == 124


def test_no_path_leads_out_of_it(sandbox):
    for path in ["../../etc/hostname", "%2e%2e/%2e%2e/etc/shadow", "notes/../../../root/x"]:
        with pytest.raises(KeystoneError) as refused:
            sandbox.read(path)
        assert refused.value.status_code in (400, 403, 404), path


def test_its_state_and_what_changed_are_shown(sandbox):
    sandbox.write("new.txt", "new")
    state = sandbox.get_state()
    assert state.files["new.txt"].size == 3 and state.captured_at
    assert "new.txt" in sandbox.diff().added


def test_traces_are_taken_and_counted_once(sandbox):
    event = {"ts": "2026-01-01T00:00:00Z", "event_type": "tool_call", "tool": "search", "span_id": "span_000000000001"}
    start, end = {**event, "phase": "start"}, {**event, "phase": "end", "duration_ms": 5, "status": "ok"}
    assert sandbox.ingest_trace([start, end])["ingested"] == 2
    trace = sandbox.get_trace()
    assert len(trace["events"]) >= 2 and trace["metrics"]["total_tool_calls"] == 1
    assert trace["metrics"]["tool_breakdown"]["search"]["count"] == 1


def test_its_token_is_good_for_it_alone(keystone, raw, name, sandbox):
    other = raw("POST", "/v1/sandboxes", json={"spec_id": "sdk-tools", "timeout": 300}).json()
    try:
        client = Keystone(api_key=other["token"], base_url=URL)
        assert client.sandboxes.get(other["id"]).id == other["id"]
        assert client.sandboxes.handle(other["id"]).ingest_trace([{"event_type": "tool_use", "phase": "invoked"}])["ingested"] == 1
        for call in [
            lambda: client.sandboxes.get(sandbox.id),
            lambda: client.sandboxes.handle(sandbox.id).exec("true"),
            client.specs.list,
            client.experiments.list,
            lambda: client.sandboxes.create("sdk-tools"),
        ]:
            with pytest.raises(KeystoneError) as refused:
                call()
            assert refused.value.status_code in (403, 404)
    finally:
        keystone.sandboxes.destroy(other["id"])


def test_one_that_is_destroyed_is_gone(keystone):
    made = keystone.sandboxes.create("sdk-tools")
    made.destroy()
    deadline = time.monotonic() + 60
    while made.id in [one.id for one in keystone.sandboxes.list()]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    with pytest.raises(KeystoneError) as refused:
        made.exec("true")
    assert refused.value.status_code in (404, 409)


AGENT = """
from polarity_keystone import Keystone, traced
keystone, sandbox = Keystone.from_sandbox()
keystone.init_tracing()
@traced
def look_up(what):
    return what.upper()
assert look_up("x") == "X"
open("out.txt", "w").write(sandbox.state)
"""


def test_an_agent_finds_its_sandbox_and_its_spans_are_kept(keystone, name):
    files = "setup:\n  files:\n    - path: agent.py\n      content: |\n" + textwrap.indent(AGENT, " " * 8)
    yaml = spec(name, command="python3 agent.py", more=files, base=WITH_SDK, wanted="running")
    experiment, results = finished(keystone, yaml, name)
    assert results.passed == 1, results.scenarios[0]
    rows = list(keystone.export.traces(experiment_id=experiment.id))
    spans = [row for row in rows if row["tool"].endswith("look_up")]
    assert {row["phase"] for row in spans} == {"start", "end"}
    assert all(isinstance(row["id"], int) for row in rows)
    assert keystone.export.trace(spans[0]["root_span_id"] or spans[0]["span_id"])["spans"]
