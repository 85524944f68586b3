//! A spec is submitted and run with one call.

use http::Method;
use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::experiments::counters;
use crate::test_app::{ADA, ADA_READS, ADMIN, Answer, BOB, HELLO, TestApp, replicas};

async fn once(app: &TestApp, key: &str, name: &str, body: Value) -> Answer {
    let headers = [("content-type", "application/json"), ("idempotency-key", name)];
    app.call(Method::POST, key, "/v1/runs", &headers, body.to_string()).await
}

#[tokio::test]
async fn json_is_run_at_once() {
    let app = TestApp::new().await;
    let body = json!({"spec": replicas(2), "name": "nightly", "unknown": 1});
    let begun = app.post(ADA, "/v1/runs", body).await.expect(202);
    let id = begun["id"].as_str().expect("an id");
    assert_eq!((&begun["total_scenarios"], &begun["status"]), (&json!(2), &json!("running")));
    app.finish(RowStatus::Pass).await;
    let results = app.get(ADA, begun["url"].as_str().expect("a url")).await.expect(200);
    assert_eq!((counters(&results), &results["experiment_id"]), ([2, 2, 0, 0, 0], &json!(id)));
    assert_eq!(results["name"], "nightly");
    assert_eq!(app.get(ADA, "/v1/specs/hello").await.expect(200)["version"], 1);
}

#[tokio::test]
async fn yaml_is_run_with_options_in_the_query() {
    let app = TestApp::new().await;
    let spec = format!("{HELLO}parallelism: {{matrix: {{size: [1, 2], language: [de, fr]}}}}\n");
    let run = async |query: &str| {
        let yaml = [("content-type", "text/yaml")];
        app.call(Method::POST, ADA, &format!("/v1/runs?{query}"), &yaml, spec.clone()).await
    };
    assert_eq!(run("").await.expect(202)["total_scenarios"], 4);
    assert_eq!(run("param=size=2&param=language=de&replicas=3&name=mine").await.expect(202)["total_scenarios"], 3);
    assert_eq!(run("filter=*-de-*&filter=nothing").await.status, 400);
    assert_eq!(run("agent=oracle&seed=3&priority=-1&min_pass_rate=0.5").await.expect(202)["total_scenarios"], 4);
    for query in ["replicas=many", "seed=-1", "agent=ghost", "param=size", "min_pass_rate=2", "priority=1000"] {
        run(query).await.refused(400);
    }
    run("owner=bob").await.refused(403);
}

#[tokio::test]
async fn the_same_request_is_done_once() {
    let app = TestApp::new().await;
    let body = json!({"spec": HELLO, "name": "once"});
    let first = once(&app, ADA, "k1", body.clone()).await;
    let begun = first.expect(202);
    assert_eq!(first.header("idempotent-replayed"), "");
    app.finish(RowStatus::Pass).await;
    let again = once(&app, ADA, "k1", body.clone()).await;
    assert_eq!(again.expect(202), begun);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(app.get(ADA, "/v1/experiments").await.expect(200).as_array().expect("a list").len(), 1);
    assert!(app.claim().await.is_none());
    once(&app, ADA, "k1", json!({"spec": HELLO, "name": "other"})).await.refused(422);
    once(&app, ADA, "k1", json!({"spec": "version: 1"})).await.refused(422);
    assert_ne!(once(&app, BOB, "k1", body.clone()).await.expect(202)["id"], begun["id"], "keys belong to owners");
    assert_ne!(once(&app, ADA, "k2", body).await.expect(202)["id"], begun["id"]);
}

#[tokio::test]
async fn a_request_that_was_refused_can_be_sent_again() {
    let app = TestApp::new().await;
    once(&app, ADA, "k", json!({"spec": "version: 1"})).await.refused(400);
    once(&app, ADA, "k", json!({"spec": HELLO})).await.expect(202);
    for key in ["", &"k".repeat(256), "ä"] {
        once(&app, ADA, key, json!({"spec": HELLO})).await.refused(400);
    }
}

#[tokio::test]
async fn the_same_request_sent_at_once_is_done_once() {
    let app = TestApp::new().await;
    let sending = (0..8).map(|_| once(&app, ADA, "k", json!({"spec": HELLO})));
    let answers = futures::future::join_all(sending).await;
    let ids: std::collections::BTreeSet<String> =
        answers.iter().map(|answer| answer.expect(202)["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(app.get(ADA, "/v1/experiments").await.expect(200).as_array().expect("a list").len(), 1);
}

#[tokio::test]
async fn what_cannot_be_run_leaves_nothing() {
    let app = TestApp::new().await;
    for (body, wanted) in [
        (json!({"spec": "id: x"}), "not valid"),
        (json!({"spec": format!("{HELLO}tags: [refused]\n")}), "cannot be run here"),
        (json!({}), "either `spec` or `bundle`"),
        (json!({"spec": HELLO, "bundle": "aGVsbG8="}), "either `spec` or `bundle`"),
        (json!({"bundle": "!"}), "base64"),
        (json!({"spec": 7}), "`spec`"),
        (json!({"spec": HELLO, "replicas": 0}), "no scenario"),
        (json!({"spec": format!("{HELLO}secrets: [TOKEN]\n")}), "PUT /v1/secrets/TOKEN"),
    ] {
        let refused = app.post(ADA, "/v1/runs", body.clone()).await.refused(400);
        assert!(refused.contains(wanted), "{body}: {refused}");
    }
    assert_eq!(app.get(ADA, "/v1/experiments").await.expect(200), json!([]));
    assert_eq!(app.get(ADA, "/v1/specs").await.expect(200), json!([]));
    app.post(ADA_READS, "/v1/runs", json!({"spec": HELLO})).await.refused(403);
    let begun = app.post(ADMIN, "/v1/runs", json!({"spec": HELLO, "owner": "bob"})).await.expect(202);
    app.get(BOB, begun["url"].as_str().expect("a url")).await.expect(200);
    app.post(ADA, "/v1/runs", json!({"spec": HELLO, "owner": "bob"})).await.refused(403);
}

#[tokio::test]
async fn what_was_done_is_done_whatever_has_changed_since() {
    let app = TestApp::new().await;
    let put = json!({"value": "swordfish"}).to_string();
    app.call(Method::PUT, ADA, "/v1/secrets/TOKEN", &[], put).await.expect(200);
    let body = json!({"spec": format!("{HELLO}secrets: [TOKEN]\n")});
    let begun = once(&app, ADA, "k", body.clone()).await.expect(202);
    app.delete(ADA, "/v1/secrets/TOKEN").await.expect(204);
    assert_eq!(once(&app, ADA, "k", body.clone()).await.expect(202), begun);
    once(&app, ADA, "k2", body).await.refused(400);
}
