//! All that is kept about an experiment.

use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::test_app::{ADA, BOB, HELLO, TestApp, replicas};

#[tokio::test]
async fn an_export_is_one_object_or_a_line_for_each_thing() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(3)).await;
    app.finish_one(RowStatus::Pass).await;
    app.finish_one(RowStatus::Fail).await;
    let answer = app.get(ADA, &format!("/v1/experiments/{id}/export")).await;
    let whole = answer.expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let keys: Vec<_> = whole.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["experiment", "result", "scenarios", "traces", "scores"]);
    assert_eq!(whole["experiment"]["id"], id);
    assert_eq!(whole["result"]["total_scenarios"], 3);
    let scenarios = whole["scenarios"].as_array().expect("scenarios");
    assert_eq!(scenarios.len(), 2);
    assert!(scenarios[0]["agent_output"].as_str().is_some_and(|output| output.starts_with("hello from ")));
    let answer = app.get(ADA, &format!("/v1/experiments/{id}/export?format=ndjson")).await;
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let text = answer.text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["header", "result", "scenario", "scenario"]);
    assert!(text.starts_with("{\"kind\":\"header\""), "{text}");
    assert_eq!(lines[0]["experiment_id"], id);
    assert_eq!(lines[2]["scenario_id"], scenarios[0]["scenario_id"]);
}

#[tokio::test]
async fn what_was_not_run_can_be_exported_too() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    let whole = app.get(ADA, &format!("/v1/experiments/{id}/export")).await.expect(200);
    assert_eq!((&whole["scenarios"], &whole["traces"], &whole["scores"]), (&json!([]), &json!([]), &json!([])));
    app.get(BOB, &format!("/v1/experiments/{id}/export")).await.refused(403);
    app.get(ADA, &format!("/v1/experiments/{id}/export?format=xml")).await.refused(400);
    app.get(ADA, &format!("/v1/experiments/{id}/export?run=7")).await.refused(404);
}
