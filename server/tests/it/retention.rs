//! Retention removes what is old, and keeps what is pinned.

use std::time::Duration;

use http::Method;
use serde_json::json;
use store::{ExperimentId, StoreError};

use crate::serving::{Serving, until};
use crate::test_app::{ADA, HELLO, TestApp};

async fn is_there(app: &TestApp, id: &str) -> bool {
    let id: ExperimentId = id.parse().expect("an id");
    match app.store.experiment(id).await {
        Ok(_) => true,
        Err(StoreError::NotFound(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn old_experiments_go_but_for_pinned_and_open_ones() {
    let app = TestApp::new().await;
    let old = app.finished(HELLO).await;
    let pinned = app.finished(HELLO).await;
    app.store.pin_experiment(pinned.parse().unwrap(), true).await.unwrap();
    let open = app.running(HELLO).await;
    app.post(ADA, "/v1/traces", json!({"events": [{"ts": 0}]})).await.expect(200);
    app.clock.pass(10 * 86_400);
    let new = app.running(HELLO).await;
    let serving = Serving::start(&app, |config| config.keep_for = Some(Duration::from_secs(86_400))).await;
    until("the end of the old one", || async { (!is_there(&app, &old).await).then_some(()) }).await;
    until("the end of the trace", || async {
        (app.get(ADA, "/v1/traces").await.expect(200)["count"] == 0).then_some(())
    })
    .await;
    for kept in [&pinned, &open, &new] {
        assert!(is_there(&app, kept).await);
    }
    serving.end().await;
}

#[tokio::test]
async fn the_oldest_experiments_go_when_there_is_too_much_evidence() {
    let app = TestApp::new().await;
    let old = app.finished(HELLO).await;
    app.clock.pass(10);
    let new = app.finished(HELLO).await;
    let usage = app.store.usage().await.unwrap().evidence;
    let serving = Serving::start(&app, |config| config.keep_bytes = Some(usage - 1)).await;
    until("the end of the old one", || async { (!is_there(&app, &old).await).then_some(()) }).await;
    assert!(is_there(&app, &new).await);
    serving.end().await;
}

#[tokio::test]
async fn without_a_setting_nothing_of_an_experiment_goes() {
    let app = TestApp::new().await;
    let old = app.finished(HELLO).await;
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let body = json!({"spec": HELLO}).to_string();
    app.call(Method::POST, ADA, "/v1/runs", &headers, body).await.expect(202);
    let once = store::Once { owner: "ada", key: "k", fingerprint: "another" };
    assert!(app.store.submitted(once).await.unwrap().is_some());
    app.clock.pass(1000 * 86_400);
    let serving = Serving::start(&app, |_| {}).await;
    // Old requests are forgotten in the same turn, after the experiments.
    until("an old request to be forgotten", || async {
        app.store.submitted(once).await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(is_there(&app, &old).await);
    serving.end().await;
}
