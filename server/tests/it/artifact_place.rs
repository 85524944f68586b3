//! An artifact place that cannot be used is told, and what fails is counted.

use std::fs;

use store::{Clock as _, NewWorker, Pulse, Retries};

use crate::serving::{Serving, until};
use crate::test_app::{ADA, ADMIN, HELLO, TestApp};

/// Lets the artifact place of a server be a file.
fn break_place(app: &TestApp) {
    let place = app.store.artifacts().whole_place();
    fs::remove_dir_all(place).expect("removed");
    fs::write(place, "no folder can be made here").expect("written");
}

#[tokio::test]
async fn a_server_is_not_ready_while_its_artifact_place_cannot_be_used() {
    let app = TestApp::new().await;
    break_place(&app);
    let serving = Serving::start(&app, |_| {}).await;
    until("it is not ready", || async { (serving.get("", "/readyz").await.0 == 503).then_some(()) }).await;
    let (_, told) = serving.get("", "/readyz").await;
    assert!(told.contains("artifact place") && !told.contains(app.store.artifacts().whole_place()), "{told}");
    assert_eq!(serving.get("", "/healthz").await.0, 200, "it lives");
    let (_, capacity) = serving.get(ADA, "/v1/capacity").await;
    let capacity: serde_json::Value = serde_json::from_str(&capacity).expect("JSON");
    let problems = capacity["problems"].to_string();
    assert!(problems.contains("probing the artifact place failed"), "{problems}");
    let (_, metrics) = serving.get(ADA, "/metrics").await;
    let counted = metrics.lines().find(|line| line.contains("probing the artifact place")).expect("a counter");
    assert!(counted.starts_with("touchstone_retries_total{operation=") && !counted.ends_with(" 0"), "{counted}");
    fs::remove_file(app.store.artifacts().whole_place()).expect("removed");
    until("it is ready again", || async { (serving.get("", "/readyz").await.0 == 200).then_some(()) }).await;
    serving.end().await;
}

#[tokio::test]
async fn what_workers_try_again_is_shown_and_counted() {
    let app = TestApp::new().await;
    app.running(HELLO).await;
    let new = NewWorker {
        id: store::WorkerId { data_dir: uuid::Uuid::from_u128(9), owner: uuid::Uuid::from_u128(1) },
        host: "host".to_owned(),
        control: String::new(),
        slots: 1,
        budget: store::Demand::default(),
        version: "1".to_owned(),
    };
    let reason = "keeping what came of a scenario failed 7 times: the bucket is read-only".to_owned();
    let pulse = Pulse { running: 1, free_disk: 1, reason: Some(reason.clone()), problems: vec![reason.clone()] };
    app.store.register_worker(&new, &pulse, app.clock.now()).await.expect("registered");
    let capacity = app.get(ADMIN, "/v1/capacity").await.expect(200);
    assert_eq!(capacity["workers"][0]["problems"][0], reason);
    assert!(capacity["explanation"].as_str().expect("words").contains("the bucket is read-only"), "{capacity}");
    let retries = Retries::told_to(drop);
    let mut observer = retries.observe("keeping what came of a scenario");
    for _ in 0..7 {
        observer.failed("the bucket is read-only");
        app.store.count_retries(&retries).await.expect("counted");
    }
    let metrics = app.get(ADA, "/metrics").await.text();
    let line = "touchstone_retries_total{operation=\"keeping what came of a scenario\"} 7";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}
