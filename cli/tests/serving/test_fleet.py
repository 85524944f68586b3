"""Several workers on one Postgres: each job is done once, whoever stops for a while."""

import json
import signal
import threading
import urllib.request

import pytest
from polarity_keystone import Keystone

from processes import Case

MANY = 200


def spec(count, command, name="fleet"):
    return f"""\
version: 1
id: {name}
base: touchstone/busybox:1
task: {{ prompt: x }}
agent: {{ type: cli, command: "{command}" }}
resources: {{ memory: 64Mi, disk: 16Mi }}
parallelism: {{ replicas: {count} }}
invariants: {{ there: {{ description: x, check: {{ type: file_exists, path: out }} }} }}
"""


@pytest.fixture
def case():
    case = Case("postgres")
    yield case
    assert case.end() == []


def claims(case, experiment):
    """Who claimed each attempt, as the stream of the experiment's events tells it to its end."""
    seen, kind = [], None
    with urllib.request.urlopen(f"http://127.0.0.1:{case.port}/v1/experiments/{experiment}/events?after=0", timeout=30) as stream:
        for line in stream:
            name, _, value = line.decode().strip().partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind == "claimed":
                seen.append(json.loads(value))
            if kind == "done":
                return seen
    raise AssertionError("the stream broke off before its end")


def test_two_workers_finish_two_hundred_scenarios_and_no_job_is_claimed_twice(case):
    case.workers.append(case.another_worker())
    experiment = case.submit(spec(MANY, "touch out"))
    body = case.results(experiment, patience=300)
    assert (body["total_scenarios"], body["passed"]) == (MANY, MANY)
    assert len({row["scenario_id"] for row in body["scenarios"]}) == MANY
    assert len({row["sandbox_id"] for row in body["scenarios"]}) == MANY
    # A machine that stands still for longer than a lease has second attempts; no attempt is ever two workers'.
    seen = claims(case, experiment)
    attempts = [(event["scenario_id"], event["attempt"]) for event in seen]
    assert len({scenario for scenario, _ in attempts}) == MANY, "each job was claimed"
    assert len(set(attempts)) == len(attempts), "no attempt was claimed twice"
    assert len({event["body"]["worker"] for event in seen}) == 2, "both workers worked"


def test_a_worker_that_was_paused_past_its_lease_cannot_overwrite_its_successor(case):
    paused = case.worker
    experiment = case.submit(spec(1, "sleep 1; touch out"))
    paused.wait_for(": the agent acts")
    paused.child.send_signal(signal.SIGSTOP)
    try:
        case.workers.append(case.another_worker())
        body = case.results(experiment)
        assert body["passed"] == 1
        sandbox = body["scenarios"][0]["sandbox_id"]
        assert sandbox.endswith("-2"), "the second attempt counts"
    finally:
        paused.child.send_signal(signal.SIGCONT)
    paused.wait_for("does not count")
    after = case.results(experiment)
    assert after["scenarios"][0]["sandbox_id"] == sandbox and after["passed"] == 1


def test_a_stock_client_that_polls_notices_nothing_of_an_outage_of_the_database(case):
    """Item 14 of the checklist: one poll that fails ends the client's wait."""
    keystone = Keystone(api_key="none", base_url=f"http://127.0.0.1:{case.port}")
    keystone.specs.create(spec(2, "sleep 2; touch out"))
    experiment = keystone.experiments.create("outage", spec_id="fleet")
    outage = threading.Thread(target=lambda: (case.worker.wait_for(": the agent acts"), case.cut()))
    outage.start()
    done = experiment.run_and_wait(poll_interval=0.1, timeout=90)
    outage.join()
    assert (done.passed, done.total_scenarios) == (2, 2), done
