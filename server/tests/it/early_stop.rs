//! Cells that stop when their bar is decided, over REST and on pages.

use scenario::result::RowStatus;
use serde_json::json;

use crate::test_app::{ADA, HELLO, TestApp};
use crate::web_session::Browser;

const UNTIL: &str = "parallelism: {replicas: {until: decided, bar: 0.9, margin: 0.2, at_most: 40}}\n";

#[tokio::test]
async fn what_is_not_needed_is_not_run_and_is_told() {
    let app = TestApp::new().await;
    let id = app.running(&format!("{HELLO}{UNTIL}")).await;
    let place = format!("/v1/experiments/{id}");
    let (first, second) = (app.claim().await.expect("a job"), app.claim().await.expect("a job"));
    app.complete(&second, RowStatus::Fail).await;
    let open = app.get(ADA, &place).await.expect(200);
    assert_eq!((&open["status"], &open["total_scenarios"]), (&json!("running"), &json!(40)));
    assert_eq!(open["cells"][0]["sequential"]["decision"], json!(null), "the first one has not ended");
    assert!(app.finish_one(RowStatus::Fail).await);
    assert!(app.finish_one(RowStatus::Fail).await);
    app.complete(&first, RowStatus::Fail).await;
    assert!(!app.finish_one(RowStatus::Fail).await, "nothing is left");
    let results = app.get(ADA, &place).await.expect(200);
    assert_eq!((&results["status"], &results["verdict"]), (&json!("finished"), &json!("fail")));
    // Clients wait until these are all.
    assert_eq!(
        (&results["total_scenarios"], &results["failed"], &results["not_run"]),
        (&json!(4), &json!(4), &json!(0))
    );
    assert_eq!(results["not_needed"], 36);
    let cell = &results["cells"][0];
    assert_eq!((&cell["planned"], &cell["failed"], &cell["verdict"]), (&json!(40), &json!(3), &json!("fail")));
    let sequential = &cell["sequential"];
    assert_eq!((&sequential["decision"], &sequential["method"]), (&json!("missed"), &json!("sprt")));
    assert_eq!(
        (&sequential["stopped_after"], &sequential["surplus"], &sequential["not_needed"]),
        (&json!(3), &json!(1), &json!(36))
    );
    assert_eq!(cell["interval"], sequential["confidence_sequence"]);
    let junit = app.get(ADA, &format!("{place}?format=junit")).await.text();
    assert!(junit.contains("bar 0.9 missed after 3 replicas"), "{junit}");
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains("missed after 3 of 40") && page.contains("36 not needed"), "{page}");
    assert!(page.contains("bar 0.9 missed after 3 replicas (SPRT: 0/3 passed"), "{page}");
}

#[tokio::test]
async fn an_undecided_cell_has_no_verdict() {
    let app = TestApp::new().await;
    let id = app.running(&format!("{HELLO}{}", UNTIL.replace("at_most: 40", "at_most: 2"))).await;
    app.finish(RowStatus::Pass).await;
    app.finish(RowStatus::Pass).await;
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    assert_eq!((&results["verdict"], &results["errors"]), (&json!("error"), &json!(0)));
    assert_eq!(results["cells"][0]["verdict"], "undecided");
    let page = Browser::signed_in(&app, ADA).await.get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains("the only cell</a> is undecided"), "{page}");
}

#[tokio::test]
async fn a_caller_can_ask_for_a_fixed_number() {
    let app = TestApp::new().await;
    app.upload(ADA, &format!("{HELLO}{UNTIL}")).await.expect(201);
    let made = app.post(ADA, "/v1/experiments", json!({"spec_id": "hello", "replicas": 4})).await.expect(201);
    let id = made["id"].as_str().expect("an id").to_owned();
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
    for _ in 0..4 {
        app.finish(RowStatus::Fail).await;
    }
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    assert_eq!((&results["total_scenarios"], &results["not_needed"]), (&json!(4), &json!(null)));
}
