//! Experiments: the path that every client takes.

use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::test_app::{ADA, HELLO, TestApp, replicas};

/// The five counters, which must be integers.
#[track_caller]
pub(crate) fn counters(results: &Value) -> [u64; 5] {
    ["total_scenarios", "passed", "failed", "flaky", "errors"]
        .map(|name| results[name].as_u64().unwrap_or_else(|| panic!("`{name}` is no integer: {results}")))
}

#[tokio::test]
async fn a_spec_becomes_an_experiment_a_run_and_results() {
    let app = TestApp::new().await;
    app.upload(ADA, &replicas(2)).await.expect(201);
    let made = app.post(ADA, "/v1/experiments", json!({"name": "first", "spec_id": "hello"})).await.expect(201);
    assert_eq!(made["name"], "first");
    assert_eq!(made["spec_id"], "hello");
    assert_eq!(made["status"], "created");
    assert_eq!(made["created_at"], "2023-11-14T22:13:20Z");
    let id = made["id"].as_str().expect("an id");
    let path = format!("/v1/experiments/{id}");
    let before = app.get(ADA, &path).await.expect(200);
    assert_eq!(counters(&before), [0; 5]);
    assert_eq!(before["status"], "created");
    let run = app.post_empty(ADA, &format!("{path}/run")).await.expect(202);
    assert_eq!(
        run,
        json!({"id": id, "experiment_id": id, "run": 1, "status": "running", "total_scenarios": 2, "url": path})
    );
    let begun = app.get(ADA, &path).await.expect(200);
    assert_eq!((counters(&begun), &begun["status"]), ([2, 0, 0, 0, 0], &json!("running")));
    app.finish_one(RowStatus::Pass).await;
    let half = app.get(ADA, &path).await.expect(200);
    assert_eq!((counters(&half), &half["status"]), ([2, 1, 0, 0, 0], &json!("running")));
    assert_eq!(half["scenarios"].as_array().expect("scenarios").len(), 1);
    app.finish_one(RowStatus::Pass).await;
    let whole = app.get(ADA, &path).await.expect(200);
    assert_eq!(
        (counters(&whole), &whole["status"], &whole["verdict"]),
        ([2, 2, 0, 0, 0], &json!("finished"), &json!("pass"))
    );
    assert_eq!(whole["experiment_id"], id);
    let first = &whole["scenarios"][0];
    assert_eq!(first["agent_output"], format!("hello from {}", first["scenario_id"].as_str().expect("an id")));
    assert_eq!(first["invariants"][0]["name"], "greeted");
    assert_eq!(whole["metrics"]["pass_rate"], 1.0);
    assert!(whole["metrics"]["mean_wall_ms"].is_u64());
}

#[tokio::test]
async fn running_again_begins_anew_before_it_is_answered() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let path = format!("/v1/experiments/{id}");
    assert_eq!(counters(&app.get(ADA, &path).await.expect(200)), [1, 1, 0, 0, 0]);
    let again = app.post_empty(ADA, &format!("{path}/run")).await.expect(202);
    assert_eq!(again["run"], 2);
    let results = app.get(ADA, &path).await.expect(200);
    assert_eq!((counters(&results), &results["run"]), ([1, 0, 0, 0, 0], &json!(2)));
    let first = app.get(ADA, &format!("{path}?run=1")).await.expect(200);
    assert_eq!((counters(&first), &first["run"]), ([1, 1, 0, 0, 0], &json!(1)));
    app.get(ADA, &format!("{path}?run=3")).await.refused(404);
}

#[tokio::test]
async fn a_run_that_is_open_is_not_begun_again() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.refused(409);
}

#[tokio::test]
async fn what_no_worker_can_run_is_refused_before_anything_is_enqueued() {
    let app = TestApp::new().await;
    let id = app.experiment(&format!("{HELLO}tags: [refused]\n")).await;
    let refused = app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.refused(400);
    assert!(refused.contains("no worker can run it"), "{refused}");
    assert_eq!(app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200)["status"], "created");
    assert!(app.claim().await.is_none());
}

#[tokio::test]
async fn an_unknown_spec_or_experiment_is_not_found() {
    let app = TestApp::new().await;
    assert!(app.post(ADA, "/v1/experiments", json!({"spec_id": "gone"})).await.refused(404).contains("`gone`"));
    for id in ["gone", "00000000-0000-0000-0000-000000000000", "%2e%2e", "a%00b"] {
        app.get(ADA, &format!("/v1/experiments/{id}")).await.refused(404);
        app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.refused(404);
    }
}

#[tokio::test]
async fn keys_that_are_not_known_are_passed_over_and_nulls_are_as_if_absent() {
    let app = TestApp::new().await;
    app.upload(ADA, HELLO).await.expect(201);
    let body = json!({
        "spec_id": "hello", "specPath": "x.yaml", "secrets": null, "name": null, "priority": null, "filter": null,
    });
    assert_eq!(app.post(ADA, "/v1/experiments", body).await.expect(201)["name"], "hello");
}

#[tokio::test]
async fn options_change_the_plan_or_are_refused() {
    let app = TestApp::new().await;
    app.upload(ADA, &format!("{HELLO}parallelism: {{matrix: {{language: [de, fr]}}}}\n")).await.expect(201);
    let make = async |options: Value| {
        let mut body = json!({"spec_id": "hello"});
        body.as_object_mut().expect("an object").extend(options.as_object().expect("options").clone());
        app.post(ADA, "/v1/experiments", body).await
    };
    let total = async |options: Value| {
        let id = make(options).await.expect(201)["id"].as_str().expect("an id").to_owned();
        let run = app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
        run["total_scenarios"].as_u64().expect("a number")
    };
    assert_eq!(total(json!({})).await, 2);
    assert_eq!(total(json!({"replicas": 3})).await, 6);
    assert_eq!(total(json!({"parameters": {"language": "de"}})).await, 1);
    assert_eq!(total(json!({"filter": ["fr-*"]})).await, 1);
    assert_eq!(total(json!({"agent": "oracle", "seed": 7, "priority": 5, "min_pass_rate": 0.5})).await, 2);
    for (options, wanted) in [
        (json!({"replicas": 0}), "no scenario"),
        (json!({"replicas": 100_000}), "at most"),
        (json!({"parameters": {"langauge": "de"}}), "did you mean `language`"),
        (json!({"filter": ["nothing"]}), "no scenario matches"),
        (json!({"filter": "x"}), "filter"),
        (json!({"agent": "ghost"}), "agent"),
        (json!({"priority": 101}), "priority"),
        (json!({"min_pass_rate": 1.5}), "min_pass_rate"),
        (json!({"seed": -1}), "seed"),
        (json!({"name": "x".repeat(201)}), "name"),
        (json!({"secrets": {"A": 1}}), "secrets"),
    ] {
        let refused = make(options.clone()).await.refused(400);
        assert!(refused.contains(wanted), "{options}: {refused}");
    }
}

#[tokio::test]
async fn lists_are_bare_newest_first_and_can_be_narrowed() {
    let app = TestApp::new().await;
    let first = app.finished(HELLO).await;
    app.clock.pass(1);
    let second = app.running(&HELLO.replace("id: hello", "id: other")).await;
    app.clock.pass(1);
    let third = app.experiment(HELLO).await;
    let ids = async |query: &str| -> Vec<String> {
        let listed = app.get(ADA, &format!("/v1/experiments{query}")).await.expect(200);
        listed
            .as_array()
            .expect("a bare array")
            .iter()
            .map(|one| one["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids("").await, [third.clone(), second.clone(), first.clone()]);
    assert_eq!(ids("?spec_id=hello").await, [third.clone(), first.clone()]);
    assert_eq!(ids("?status=running").await, std::slice::from_ref(&second));
    assert_eq!(ids("?status=finished&limit=1").await, std::slice::from_ref(&first));
    assert_eq!(ids("?status=created").await, std::slice::from_ref(&third));
    let answer = app.get(ADA, "/v1/experiments?limit=2").await;
    let cursor = answer.header("x-next-cursor");
    assert_eq!(ids(&format!("?limit=2&cursor={cursor}")).await, [first]);
    app.get(ADA, "/v1/experiments?status=dead").await.refused(400);
}
