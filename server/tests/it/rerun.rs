//! Running again, judging again, keeping and removing.

use scenario::result::RowStatus;
use serde_json::json;

use crate::experiments::counters;
use crate::test_app::{ADA, ADA_READS, BOB, HELLO, TestApp, replicas};

#[tokio::test]
async fn what_did_not_pass_is_run_again_as_an_experiment_of_its_own() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(3)).await;
    for status in [RowStatus::Pass, RowStatus::Fail, RowStatus::Error] {
        app.finish_one(status).await;
    }
    let path = format!("/v1/experiments/{id}");
    let before = app.get(ADA, &path).await.expect(200);
    let again = app.post(ADA, &format!("{path}/rerun"), json!({"failed_only": true})).await.expect(202);
    let new = again["id"].as_str().expect("an id").to_owned();
    assert_ne!(new, id);
    assert_eq!((&again["total_scenarios"], &again["run"]), (&json!(2), &json!(1)));
    assert_eq!(app.get(ADA, &path).await.expect(200), before, "the old one is as it was");
    let listed = app.get(ADA, "/v1/experiments").await.expect(200);
    let made = listed.as_array().expect("a list").iter().find(|one| one["id"] == new.as_str()).expect("the new one");
    assert_eq!((&made["rerun_of"], &made["name"]), (&json!(id), &json!("mine")));
    app.finish(RowStatus::Pass).await;
    let results = app.get(ADA, &format!("/v1/experiments/{new}")).await.expect(200);
    assert_eq!(counters(&results), [2, 2, 0, 0, 0]);
    assert_eq!(results["seed"], before["seed"]);
    let again = app.post_empty(ADA, &format!("/v1/experiments/{new}/run")).await.expect(202);
    assert_eq!(again["total_scenarios"], 2, "its next run has the same scenarios");
    app.finish(RowStatus::Pass).await;
    assert_eq!(app.post_empty(ADA, &format!("{path}/rerun")).await.expect(202)["total_scenarios"], 3);
    app.post(ADA, &format!("/v1/experiments/{new}/rerun"), json!({"failed_only": true})).await.refused(409);
}

#[tokio::test]
async fn one_scenario_is_run_again_as_an_experiment_of_its_own() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(3)).await;
    app.finish(RowStatus::Fail).await;
    let path = format!("/v1/experiments/{id}/rerun");
    let again = app.post(ADA, &path, json!({"scenario_id": "default-r1"})).await.expect(202);
    assert_eq!(again["total_scenarios"], 1);
    app.finish(RowStatus::Pass).await;
    let new = again["id"].as_str().expect("an id");
    let results = app.get(ADA, &format!("/v1/experiments/{new}")).await.expect(200);
    assert_eq!(results["scenarios"][0]["scenario_id"], "default-r1");
    app.post(ADA, &path, json!({"scenario_id": "default-r9"})).await.refused(404);
}

#[tokio::test]
async fn an_open_run_is_not_run_again_nor_judged_again() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    for what in ["rerun", "rescore"] {
        app.post_empty(ADA, &format!("/v1/experiments/{id}/{what}")).await.refused(409);
        app.post_empty(BOB, &format!("/v1/experiments/{id}/{what}")).await.refused(403);
        app.post_empty(ADA_READS, &format!("/v1/experiments/{id}/{what}")).await.refused(403);
        let unrun = app.experiment(HELLO).await;
        app.post_empty(ADA, &format!("/v1/experiments/{unrun}/{what}")).await.refused(409);
    }
}

#[tokio::test]
async fn judging_again_is_a_new_run_unless_it_is_only_tried() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let path = format!("/v1/experiments/{id}");
    let tried = app.post(ADA, &format!("{path}/rescore"), json!({"dry_run": true})).await.expect(200);
    // Nobody looked for the file when this evidence was made.
    assert_eq!((&tried["run"], &tried["rescored_of"], &tried["errors"]), (&json!(0), &json!(1), &json!(1)));
    let scenario = &app.get(ADA, &path).await.expect(200)["scenarios"][0]["scenario_id"];
    assert_eq!(tried["changed"], json!([{"scenario_id": scenario, "before": "pass", "after": "error"}]));
    assert_eq!(app.get(ADA, &path).await.expect(200)["run"], 1);
    let kept = app.post_empty(ADA, &format!("{path}/rescore")).await.expect(201);
    assert_eq!(kept["run"], 2);
    let results = app.get(ADA, &path).await.expect(200);
    assert_eq!(
        (counters(&results), &results["run"], &results["status"]),
        ([1, 0, 0, 0, 1], &json!(2), &json!("finished"))
    );
    assert!(results["scenarios"][0]["agent_output"].as_str().is_some_and(|output| output.starts_with("hello from")));
    let detail = app.get(ADA, &format!("{path}/scenarios/{}", scenario.as_str().expect("an id"))).await.expect(200);
    assert_eq!(detail["attempts"].as_array().expect("attempts").len(), 1, "those of the run in which the agent acted");
}

#[tokio::test]
async fn judging_again_by_another_spec_is_checked() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let path = format!("/v1/experiments/{id}/rescore");
    let changed = HELLO.replace("weight: 1", "weight: 0.5");
    let kept = app.post(ADA, &path, json!({"spec": changed})).await.expect(201);
    assert_eq!(kept["run"], 2);
    assert_eq!(app.get(ADA, "/v1/specs/hello").await.expect(200)["version"], 2);
    assert!(app.post(ADA, &path, json!({"spec": "version: 1"})).await.refused(400).contains("not valid"));
    let other = HELLO.replace("id: hello", "id: other");
    app.post(ADA, &path, json!({"spec": other})).await.refused(409);
}

#[tokio::test]
async fn what_is_pinned_or_open_is_not_removed() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let path = format!("/v1/experiments/{id}");
    assert!(app.delete(ADA, &path).await.refused(409).contains("being run"));
    app.finish(RowStatus::Pass).await;
    assert_eq!(app.post_empty(ADA, &format!("{path}/pin")).await.expect(200)["pinned"], true);
    assert!(app.delete(ADA, &path).await.refused(409).contains("pinned"));
    app.delete(BOB, &path).await.refused(403);
    app.delete(BOB, &format!("{path}/pin")).await.refused(403);
    app.delete(ADA_READS, &format!("{path}/pin")).await.refused(403);
    app.delete(ADA, &format!("{path}/pin")).await.expect(204);
    app.delete(ADA, &path).await.expect(204);
    app.get(ADA, &path).await.refused(404);
    app.delete(ADA, &path).await.refused(404);
    app.get(ADA, "/v1/specs/hello").await.expect(200);
}
