"""What breaks a stock client, item by item of the conformance checklist, as raw requests."""

import re
import time
from datetime import datetime

import pytest

from conftest import spec

COUNTERS = ["total_scenarios", "passed", "failed", "flaky", "errors"]


@pytest.fixture(scope="module")
def experiment(raw):
    assert raw("POST", "/v1/specs", data=spec("sdk-list"), headers={"Content-Type": "text/yaml"}).status_code == 201
    made = raw("POST", "/v1/experiments", json={"name": "list", "spec_id": "sdk-list", "specPath": "ignored"})
    assert made.status_code == 201
    return made.json()


def wait(raw, experiment):
    deadline = time.monotonic() + 60
    while True:
        body = raw("GET", f"/v1/experiments/{experiment['id']}?wait=5s").json()
        if body["total_scenarios"] and sum(body[name] for name in COUNTERS[1:]) >= body["total_scenarios"]:
            return body
        assert time.monotonic() < deadline, body


def test_01_06_an_empty_post_without_a_content_type_runs_and_answers_json(raw, experiment):
    ran = raw("POST", f"/v1/experiments/{experiment['id']}/run")
    assert ran.status_code == 202 and ran.headers["content-type"].startswith("application/json") and ran.json()
    assert "content-type" not in {name.lower() for name in ran.request.headers}
    wait(raw, experiment)


def test_02_04_results_have_all_counters_as_integers_before_during_and_after(raw):
    raw("POST", "/v1/specs", data=spec("sdk-count", command="sleep 1; printf done > out.txt"))
    made = raw("POST", "/v1/experiments", json={"name": "count", "spec_id": "sdk-count"}).json()
    bodies = [raw("GET", f"/v1/experiments/{made['id']}").json()]
    raw("POST", f"/v1/experiments/{made['id']}/run")
    bodies.append(raw("GET", f"/v1/experiments/{made['id']}").json())
    bodies.append(wait(raw, made))
    for body in bodies:
        assert all(type(body[name]) is int for name in COUNTERS), body
        assert {"ran_at", "spec_id", "experiment_id", "seed", "metrics", "scenarios"} <= body.keys()
    assert [body["total_scenarios"] for body in bodies] == [0, 1, 1]


def test_03_a_new_run_shows_nothing_of_the_old_one(raw, experiment):
    wait(raw, experiment)
    raw("POST", f"/v1/experiments/{experiment['id']}/run")
    body = raw("GET", f"/v1/experiments/{experiment['id']}").json()
    assert body["run"] >= 2 and len(body["scenarios"]) < 1 or body["ran_at"]
    assert sum(body[name] for name in COUNTERS[1:]) == len(body["scenarios"])
    wait(raw, experiment)


@pytest.mark.parametrize("path", ["sandboxes", "specs", "experiments", "alerts", "datasets", "score-rules"])
def test_05_bare_arrays(raw, path):
    assert isinstance(raw("GET", f"/v1/{path}").json(), list)


@pytest.mark.parametrize("path", ["agents", "traces", "spans", "scenarios", "scores"])
def test_05_envelopes(raw, path):
    body = raw("GET", f"/v1/{path}?limit=3").json()
    assert isinstance(body["items"], list) and type(body["count"]) is int and "next_cursor" in body


@pytest.mark.parametrize("kind", ["application/x-yaml", "text/yaml"])
def test_07_yaml_is_read_under_both_names(raw, kind):
    assert raw("POST", "/v1/specs", data=spec("sdk-yaml"), headers={"Content-Type": kind}).status_code == 201


def test_09_a_timeout_is_a_text_or_a_number(raw, experiment):
    for timeout in ["5m", 300]:
        made = raw("POST", "/v1/sandboxes", json={"spec_id": "sdk-list", "timeout": timeout})
        assert made.status_code == 201, made.text
        assert raw("DELETE", f"/v1/sandboxes/{made.json()['id']}").status_code == 204
    refused = raw("POST", "/v1/sandboxes", json={"spec_id": "sdk-list", "timeout": "soon"})
    assert refused.status_code == 400


def test_10_times_are_rfc_3339_and_milliseconds_integers(raw, experiment):
    body = wait(raw, experiment)
    datetime.fromisoformat(body["ran_at"].replace("Z", "+00:00"))
    datetime.fromisoformat(experiment["created_at"].replace("Z", "+00:00"))
    assert type(body["metrics"]["mean_wall_ms"]) is int and type(body["metrics"]["p95_wall_ms"]) is int
    for scenario in body["scenarios"]:
        assert type(scenario["wall_ms"]) is int and type(scenario["exit_code"]) is int and type(scenario["tool_calls"]) is int


@pytest.mark.parametrize("method, path", [("GET", "/v1/specs/none"), ("GET", "/nothing"), ("PATCH", "/v1/specs"), ("POST", "/v1/prompts")])
def test_11_errors_have_words_in_both_places_and_a_code(raw, method, path):
    body = raw(method, path).json()
    assert body["error"] == body["message"] and " " in body["error"] and re.fullmatch("[a-z_]+", body["code"])


def test_12_ids_and_cursors_need_no_escapes(raw, experiment):
    assert re.fullmatch("[A-Za-z0-9_-]+", experiment["id"])
    raw("POST", "/v1/traces", json={"events": [{"event_type": "x", "tool": "paging"}] * 3})
    cursor = raw("GET", "/v1/traces?limit=1&tool=paging").json()["next_cursor"]
    assert re.fullmatch("[A-Za-z0-9_-]+", cursor)


def test_15_metrics_have_both_shapes(raw, experiment):
    wait(raw, experiment)
    body = raw("GET", f"/v1/metrics/experiments/{experiment['id']}").json()
    assert body["summary"]["total_runs"] >= 1 and isinstance(body["pass_rate_trend"], list)
    assert all(isinstance(value, (int, float)) for value in body["metrics"].values()) and body["metrics"]


def test_16_the_metadata_part_of_an_upload_has_no_content_type(raw):
    body = (
        b'--line\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{"name": "none", "entrypoint": []}\r\n'
        b'--line\r\nContent-Disposition: form-data; name="bundle"; filename="none.tar.gz"\r\nContent-Type: application/gzip\r\n\r\nno gzip\r\n--line--\r\n'
    )
    refused = raw("POST", "/v1/agents", data=body, headers={"Content-Type": "multipart/form-data; boundary=line"})
    assert refused.status_code == 400 and "entrypoint" in refused.json()["error"] or "gzip" in refused.json()["error"]
