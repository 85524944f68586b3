"""The quick path, and everything about experiments."""

import json
import time

import pytest
from polarity_keystone import ExactMatch, Keystone
from polarity_keystone.types import KeystoneError

from conftest import URL, finished, spec


def test_a_spec_is_uploaded_run_and_judged(keystone, name):
    uploaded = keystone.specs.create(spec(name))
    assert (uploaded.id, uploaded.raw["version"], uploaded.raw["description"]) == (name, 1, "A spec of the SDK's tests")
    experiment = keystone.experiments.create("nightly", spec_id=name)
    assert experiment.status == "created" and experiment.name == "nightly" and experiment.spec_id == name
    results = experiment.run_and_wait(poll_interval=0.2, timeout=120)
    assert (results.total_scenarios, results.passed, results.failed, results.flaky, results.errors) == (1, 1, 0, 0, 0)
    assert results.metrics.pass_rate == 1.0 and results.metrics.mean_wall_ms > 0
    [scenario] = results.scenarios
    assert scenario.status == "pass" and scenario.composite_score == 1.0 and scenario.exit_code == 0
    assert scenario.agent_output == "finished\n"
    [invariant] = scenario.invariants
    assert invariant.name == "written" and invariant.passed and invariant.gate and invariant.score == 1.0


def test_specs_are_listed_read_versioned_and_removed(keystone, name):
    keystone.specs.create(spec(name))
    assert keystone.specs.create(spec(name) + "# the same id, another text\n").raw["version"] == 2
    assert keystone.specs.get(name).raw["version"] == 2
    assert name in [one.id for one in keystone.specs.list()]
    keystone.specs.delete(name)
    with pytest.raises(KeystoneError) as refused:
        keystone.specs.get(name)
    assert refused.value.status_code == 404 and name in str(refused.value)


def test_a_spec_that_is_wrong_is_refused_with_what_is_wrong(keystone, name):
    with pytest.raises(KeystoneError) as refused:
        keystone.specs.create(spec(name).replace("gate: true", "gatee: true"))
    assert refused.value.status_code == 400
    assert "gatee" in str(refused.value) and "gate" in str(refused.value)


def test_a_failure_tells_why_and_how_to_repeat_it(keystone, name):
    _, results = finished(keystone, spec(name, wanted="something else"), name)
    [scenario] = results.scenarios
    assert (results.failed, scenario.status, scenario.composite_score) == (1, "fail", 0.0)
    assert "something else" in scenario.invariants[0].message
    assert scenario.reproducer.seed == results.seed and scenario.reproducer.scenario_id == scenario.scenario_id


def test_replicas_and_a_matrix_become_scenarios_with_parameters(keystone, name):
    more = "parallelism: { replicas: 2, matrix: [ { who: ada }, { who: bob } ] }"
    yaml = spec(name, command="printf {{ params.who }} > out.txt", more=more, wanted="ada")
    _, results = finished(keystone, yaml, name)
    assert (results.total_scenarios, results.passed, results.failed) == (4, 2, 2)
    assert {scenario.parameters["who"] for scenario in results.scenarios} == {"ada", "bob"}


def test_an_experiment_that_is_run_again_begins_anew(keystone, name):
    experiment, first = finished(keystone, spec(name, command="sleep 1; printf done > out.txt"), name)
    assert first.passed == 1
    experiment.run()
    again = experiment.results()
    assert (again.total_scenarios, again.passed) == (1, 0), "results of the run before are not shown"
    deadline = time.monotonic() + 60
    while experiment.results().passed == 0:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_experiments_are_listed_compared_and_measured(keystone, name):
    good, _ = finished(keystone, spec(name), name)
    bad, _ = finished(keystone, spec(name, wanted="something else"), name)
    listed = [one.id for one in keystone.experiments.list()]
    assert listed.index(bad.id) < listed.index(good.id), "newest first"
    comparison = good.compare(bad)
    assert not comparison.regressed, "one scenario on either side may be chance"
    rates = {metric.name: metric for metric in comparison.metrics}
    assert (rates["pass_rate"].baseline, rates["pass_rate"].candidate) == (1.0, 0.0)
    assert rates["pass_rate"].direction == "worse"
    assert not good.compare(good).regressed
    metrics = good.metrics()
    assert metrics.experiment_id == good.id and metrics.summary.total_runs == 1 and metrics.summary.pass_rate == 1.0
    five = "parallelism: { replicas: 5 }"
    good, _ = finished(keystone, spec(name, more=five), name)
    bad, _ = finished(keystone, spec(name, more=five, wanted="something else"), name)
    comparison = good.compare(bad)
    assert comparison.regressed and comparison.regressions, "five of five and none of five is not"


def test_scorers_of_the_client_read_the_output_and_the_parameters(keystone, name):
    yaml = spec(name, command="printf done > out.txt; printf Paris", more="parallelism: { matrix: [ { expected: Paris } ] }")
    keystone.specs.create(yaml)
    experiment = keystone.experiments.create(name, spec_id=name)
    results = experiment.run_and_wait(poll_interval=0.2, timeout=120, scores=[ExactMatch(expected_key="expected")])
    scores = {one.name: one for one in results.scenarios[0].invariants}
    assert len(scores) == 2 and all(one.passed for one in scores.values()), scores


def test_secrets_of_the_caller_reach_the_agent_and_nothing_else(keystone, raw, name):
    value = "swordfish-4711-value"
    more = "secrets: [ TOKEN ]"
    yaml = spec(name, command='printf "$TOKEN" > out.txt; echo "$TOKEN"', more=more, wanted="{{ secrets.TOKEN }}")
    experiment, results = finished(keystone, yaml, name, secrets={"TOKEN": value})
    assert results.passed == 1, results.scenarios[0].invariants
    assert value not in results.scenarios[0].agent_output
    for path in ["", "/export", "/export?format=ndjson", "/events?after=0"]:
        if "events" in path:
            continue
        assert value not in raw("GET", f"/v1/experiments/{experiment.id}{path}").text


def test_an_experiment_is_exported_whole(keystone, name):
    experiment, _ = finished(keystone, spec(name), name)
    bundle = keystone.export.experiment(experiment.id)
    assert bundle["experiment"]["id"] == experiment.id and len(bundle["scenarios"]) == 1
    assert {"experiment", "result", "scenarios", "traces", "scores"} <= bundle.keys()
    lines = [json.loads(line) for line in keystone.export.experiment(experiment.id, format="ndjson").splitlines()]
    assert lines[0]["kind"] == "header" and lines[0]["experiment_id"] == experiment.id
    assert "scenario" in {line["kind"] for line in lines}
    rows = list(keystone.export.scenarios(experiment_id=experiment.id, limit=1))
    assert [row["status"] for row in rows] == ["pass"]


def test_score_rules_are_applied_to_what_agents_printed(keystone, name):
    experiment, _ = finished(keystone, spec(name), name)
    rules = [
        keystone.scoring.create_rule("says so", "contains", {"text": "finished"}),
        keystone.scoring.create_rule("no number", "regex", {"pattern": "[0-9]"}),
    ]
    assert {rule["id"] for rule in rules} <= {rule["id"] for rule in keystone.scoring.list_rules()}
    keystone.scoring.score_experiment(experiment.id, [rule["id"] for rule in rules])
    deadline = time.monotonic() + 60
    while len(scores := keystone.scoring.get_scores(experiment.id)) < 2:
        assert time.monotonic() < deadline, scores
        time.sleep(0.2)
    assert {score["rule_id"]: score["passed"] for score in scores} == {rules[0]["id"]: True, rules[1]["id"]: False}
    assert [row["rule_id"] for row in keystone.export.scores(experiment_id=experiment.id, rule_id=rules[0]["id"])] == [rules[0]["id"]]
    for rule in rules:
        keystone.scoring.delete_rule(rule["id"])
    assert not {rule["id"] for rule in rules} & {rule["id"] for rule in keystone.scoring.list_rules()}


def test_an_unknown_key_is_refused_in_words(name):
    with pytest.raises(KeystoneError) as refused:
        Keystone(api_key="ts_live_wrong", base_url=URL).specs.list()
    assert refused.value.status_code == 401 and "key" in str(refused.value)


def test_the_server_is_healthy(keystone):
    assert keystone.health()["status"] == "ok"
