//! Caveats and tolerated failures, on pages and in results.

use scenario::evidence::ImageRecord;
use scenario::result::{Caveat, RanIn, RowStatus};
use serde_json::json;

use crate::test_app::{ADA, HELLO, TestApp, replicas, result};
use crate::web_session::Browser;

const MODIFIED: &str = "passed on an image that the agent changed (/usr/bin/pytest)";

/// An experiment whose agent replaced what checks it, in a sandbox without the image that was asked for.
async fn cheated(app: &TestApp, backend: &str) -> String {
    let id = app.running(HELLO).await;
    let held = app.claim().await.expect("a job");
    let mut result = result(&held, RowStatus::Pass);
    result.caveats = vec![
        Caveat::ModifiedImage {
            invariant: "greeted".to_owned(),
            changes: vec!["/usr/bin/pytest".to_owned()],
            total: 1,
        },
        Caveat::StandIn { image: "debian".to_owned(), used: "host <b>".to_owned(), backend: backend.to_owned() },
    ];
    let image = ImageRecord { reference: "debian".to_owned(), name: format!("on {backend}"), ..ImageRecord::default() };
    result.ran_in = Some(RanIn { backend: backend.to_owned(), images: vec![image], scoring_version: None });
    app.complete_with(&held, result).await;
    id
}

#[tokio::test]
async fn caveats_stand_beside_the_verdict() {
    let app = TestApp::new().await;
    let id = cheated(&app, "local").await;
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    assert_eq!((&results["verdict"], &results["caveats"][0]["kind"]), (&json!("pass"), &json!("modified_image")));
    assert!(results["caveats"][0]["message"].as_str().is_some_and(|message| message.contains(MODIFIED)), "{results}");
    let scenario = &results["scenarios"][0];
    assert_eq!(
        (&scenario["caveats"][1]["kind"], &scenario["ran_in"]["backend"]),
        (&json!("stand_in"), &json!("local"))
    );
    let browser = Browser::signed_in(&app, ADA).await;
    for page in ["", "/scenarios/default-r0"] {
        let page = browser.get(&format!("/experiments/{id}{page}")).await.text();
        assert!(page.contains("<strong>Caveat</strong>") && page.contains("/usr/bin/pytest"), "{page}");
        assert!(page.contains("stood in for it") && !page.contains("host <b>"), "{page}");
    }
}

#[tokio::test]
async fn two_worlds_are_compared_with_that_difference_stated() {
    let app = TestApp::new().await;
    let (docker, local) = (cheated(&app, "docker").await, cheated(&app, "local").await);
    let body = json!({"baseline_id": docker, "candidate_id": local});
    let compared = app.post(ADA, "/v1/experiments/compare", body).await.expect(200);
    let expected = json!(["backend: docker → local", "image debian: on docker → on local"]);
    assert_eq!((&compared["different_world"], &compared["regressed"]), (&expected, &json!(false)));
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/compare?a={docker}&b={local}")).await.text();
    assert!(page.contains("They ran in different worlds: backend: docker → local"), "{page}");
}

#[tokio::test]
async fn a_failed_replica_within_the_bar_is_no_failure() {
    let app = TestApp::new().await;
    let id = app.running(&format!("{}scoring: {{min_pass_rate: 0.6}}\n", replicas(5))).await;
    for status in [RowStatus::Fail, RowStatus::Pass, RowStatus::Pass, RowStatus::Pass, RowStatus::Pass] {
        assert!(app.finish_one(status).await);
    }
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    assert_eq!((&results["verdict"], &results["flaky"], &results["failed"]), (&json!("pass"), &json!(1), &json!(0)));
    assert_eq!(
        (&results["scenarios"][0]["status"], &results["scenarios"][0]["tolerated"]),
        (&json!("flaky"), &json!(true))
    );
    let one = app.get(ADA, &format!("/v1/experiments/{id}/scenarios/default-r0")).await.expect(200);
    assert_eq!((&one["status"], &one["result"]["status"]), (&json!("flaky"), &json!("flaky")));
    assert_eq!(one["result"]["tolerated"], true);
    let junit = app.get(ADA, &format!("/v1/experiments/{id}?format=junit")).await.text();
    assert!(junit.contains("failures=\"0\"") && !junit.contains("<failure"), "{junit}");
}
