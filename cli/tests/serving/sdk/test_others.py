"""Snapshots of agents, traces of a client, the pytest plugin, datasets and alerts."""

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from polarity_keystone import traced
from polarity_keystone.types import KeystoneError

from conftest import KEY, URL, WITH_SDK, finished, spec


def test_a_snapshot_is_uploaded_found_run_and_removed(keystone, name, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "agent.py").write_text("from lib import words\nopen('out.txt', 'w').write(words.DONE)\n")
    (tmp_path / "lib" / "words.py").write_text("DONE = 'done'\n")
    first = keystone.agents.upload(name, str(tmp_path), entrypoint=["python3", "agent.py"], runtime="python3")
    second = keystone.agents.upload(name, str(tmp_path), entrypoint=["python3", "agent.py"], tag="stable")
    assert (first.version, second.version) == (1, 2) and first.id.startswith("snap_")
    assert second.digest.startswith("sha256:") and second.size_bytes > 0
    assert keystone.agents.get(name).id == second.id
    assert keystone.agents.get(name, version=1).id == first.id
    assert keystone.agents.get(name, tag="stable").id == second.id
    assert keystone.agents.get_by_id(first.id).version == 1
    versions, more = keystone.agents.list_versions(name)
    assert {one.version for one in versions} == {1, 2} and not more
    page, cursor = keystone.agents.list(limit=1)
    assert len(page) == 1
    agent = f"{{ type: snapshot, snapshot: {name}, timeout: 30s }}"
    yaml = spec(name, base=WITH_SDK)
    yaml = "\n".join(f"agent: {agent}" if line.startswith("agent:") else line for line in yaml.splitlines()) + "\n"
    _, results = finished(keystone, yaml, name)
    assert results.passed == 1, results.scenarios[0]
    first.delete()
    with pytest.raises(KeystoneError) as refused:
        keystone.agents.get_by_id(first.id)
    assert refused.value.status_code == 404


def test_spans_of_a_client_without_a_sandbox_belong_to_its_key(keystone):
    keystone.init_tracing()

    @traced(name="of-the-client")
    def work():
        return 7

    work()
    deadline = time.monotonic() + 20
    while not (rows := list(keystone.export.traces(tool="of-the-client"))):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert rows[0]["event_type"] == "tool_call"
    assert list(keystone.export.spans(span_id=rows[0]["span_id"]))


def test_traces_come_in_pages_and_since_a_time(keystone, name):
    events = [{"event_type": "tool_use", "phase": "invoked", "tool": name, "span_id": f"span_{number:012x}"} for number in range(5)]
    keystone._http.post("/v1/traces", {"events": events})
    rows = list(keystone.export.traces(tool=name, limit=2))
    assert len(rows) == 5 and len({row["id"] for row in rows}) == 5
    assert len(list(keystone.export.traces(tool=name, since="24h"))) == 5
    assert list(keystone.export.traces(tool=name, since="2099-01-01T00:00:00+00:00")) == []


def test_the_pytest_plugin_posts_its_scores(keystone, tmp_path, name):
    (tmp_path / "test_scores.py").write_text(
        "from polarity_keystone import ExactMatch\n"
        "def test_one(polarity_score):\n"
        "    polarity_score(ExactMatch(), input='x', output='y', expected='y', min=0.5)\n"
    )
    environment = {**os.environ, "POLARITY_BASE_URL": URL, "POLARITY_API_KEY": KEY}
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-s", str(tmp_path)], env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and "posted eval" in ran.stdout, ran.stdout + ran.stderr
    span = ran.stdout.split("span=")[1].split()[0]
    [row] = list(keystone.export.spans(span_id=span))
    assert row["event_type"] == "eval" and row["metadata"]["eval.rows"]


def test_datasets_hold_records_by_version_and_tag(keystone, name):
    made = keystone.datasets.create(name, "for a test")
    assert made.id and made.name == name
    assert keystone.datasets.add_records(made.id, [{"input": {"q": 1}, "expected": {"a": 2}, "tags": ["x"]}])["added"] == 1
    assert keystone.datasets.add_records(made.id, [{"input": {"q": 2}, "tags": ["y"]}])["added"] == 1
    assert keystone.datasets.get(made.id).version == 2 or keystone.datasets.get(made.id).version == 3
    assert len(keystone.datasets.get_records(made.id)) == 2
    [tagged] = keystone.datasets.get_records(made.id, tags=["x"])
    assert tagged["input"] == {"q": 1} and tagged["expected"] == {"a": 2}
    assert name in [one.name for one in keystone.datasets.list()]
    keystone.datasets.delete(made.id)
    with pytest.raises(KeystoneError):
        keystone.datasets.get(made.id)


def test_a_dataset_is_made_from_traces(keystone, name):
    event = {"event_type": "llm_call", "phase": "complete", "tool": name, "span_id": "span_aaaaaaaaaaaa"}
    keystone._http.post("/v1/traces", {"events": [{**event, "metadata": {"input": "q", "output": "a"}}]})
    made = keystone.datasets.from_traces(name=name, filter={"tool": name})
    assert made["rows_added"] == 1 and made["sample_rows"][0]["input"] == {"value": "q"}
    keystone.datasets.delete(made["dataset_id"])


def test_alerts_fire_when_an_experiment_ends_and_are_signed(keystone, name):
    received = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hook"
    rule = keystone.alerts.create("too low", "pass_rate < 0.8", eval_id=name, webhook_url=url)
    quiet = keystone.alerts.create("never", "pass_rate > 2", eval_id=name, webhook_url=url)
    try:
        assert rule.id in [one.id for one in keystone.alerts.list()]
        experiment, _ = finished(keystone, spec(name, wanted="something else"), name)
        deadline = time.monotonic() + 30
        while not received:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        headers, body = received[0]
        fired = json.loads(body)
        assert fired["rule_id"] == rule.id and fired["experiment_id"] == experiment.id and fired["reason"]
        assert "v1=" in headers["X-Touchstone-Signature"]
        assert len(received) == 1
    finally:
        keystone.alerts.delete(rule.id)
        keystone.alerts.delete(quiet.id)
        server.shutdown()


def test_a_condition_that_cannot_be_read_is_refused(keystone):
    with pytest.raises(KeystoneError) as refused:
        keystone.alerts.create("wrong", "pass_rat < 0.8", webhook_url="http://127.0.0.1:1/")
    assert refused.value.status_code == 400 and "pass_rat" in str(refused.value)


def test_what_is_not_here_says_so(keystone):
    for call in [keystone.prompts.list, keystone.judges.list, keystone.behaviors.list, keystone.workspaces.list]:
        with pytest.raises(KeystoneError) as refused:
            call()
        assert refused.value.status_code == 501 and "not a part of this server" in str(refused.value)
