//! Secrets: sealed, never returned, and never taken from the server's own machine.

use http::Method;
use serde_json::json;

use crate::test_app::{ADA, ADA_READS, ADMIN, Answer, BOB, HELLO, TestApp};

async fn put(app: &TestApp, key: &str, path: &str, value: &str) -> Answer {
    app.call(Method::PUT, key, path, &[], json!({ "value": value }).to_string()).await
}

#[tokio::test]
async fn secrets_are_kept_sealed_and_only_their_names_are_shown() {
    let app = TestApp::new().await;
    assert_eq!(put(&app, ADA, "/v1/secrets/TOKEN", "swordfish").await.expect(200), json!({"name": "TOKEN"}));
    put(&app, ADA, "/v1/secrets/OTHER", "sesame").await.expect(200);
    let listed = app.get(ADA_READS, "/v1/secrets").await;
    assert_eq!(listed.expect(200), json!([{"name": "OTHER"}, {"name": "TOKEN"}]));
    assert_eq!(app.get(BOB, "/v1/secrets").await.expect(200), json!([]));
    let sealed = app.store.secret("ada", "TOKEN").await.expect("read").expect("a secret");
    assert!(!String::from_utf8_lossy(&sealed).contains("swordfish"));
    assert_eq!(app.master_key.open(&sealed, "ada/TOKEN").expect("opened"), b"swordfish");
    assert!(app.master_key.open(&sealed, "bob/TOKEN").is_err());
    app.get(ADA, "/v1/secrets/TOKEN").await.refused(405);
    app.delete(ADA_READS, "/v1/secrets/TOKEN").await.refused(403);
    app.delete(BOB, "/v1/secrets/TOKEN").await.refused(404);
    app.delete(ADA, "/v1/secrets/TOKEN").await.expect(204);
    app.delete(ADA, "/v1/secrets/TOKEN").await.refused(404);
    put(&app, ADMIN, "/v1/secrets/TOKEN?owner=bob", "open sesame").await.expect(200);
    assert_eq!(app.get(BOB, "/v1/secrets").await.expect(200), json!([{"name": "TOKEN"}]));
}

#[tokio::test]
async fn names_and_values_that_cannot_be_secrets_are_refused() {
    let app = TestApp::new().await;
    for path in ["/v1/secrets/1A", "/v1/secrets/A-B", "/v1/secrets/%C3%A4", &format!("/v1/secrets/{}", "A".repeat(129))]
    {
        put(&app, ADA, path, "swordfish").await.refused(400);
    }
    for value in ["abc".to_owned(), "x".repeat(64 * 1024 + 1)] {
        let refused = put(&app, ADA, "/v1/secrets/TOKEN", &value).await.refused(400);
        assert!(!refused.contains(&value), "{refused}");
    }
    put(&app, ADA_READS, "/v1/secrets/TOKEN", "swordfish").await.refused(403);
    let wrong = app.call(Method::PUT, ADA, "/v1/secrets/TOKEN", &[], "{\"value\": [\"swordfish\"]}").await.refused(400);
    assert!(!wrong.contains("swordfish"), "{wrong}");
}

#[tokio::test]
async fn a_spec_takes_nothing_from_the_servers_machine() {
    let app = TestApp::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("made-by-the-server");
    for source in [
        "{name: TOKEN, source: env}".to_owned(),
        "{name: TOKEN, source: 'env:PATH'}".to_owned(),
        "{name: TOKEN, source: 'file:/etc/hostname'}".to_owned(),
        format!("{{name: TOKEN, source: 'command:touch {}'}}", file.display()),
        "{name: TOKEN, source: dashboard}".to_owned(),
        "TOKEN".to_owned(),
    ] {
        let spec = format!("{HELLO}secrets: [{source}]\n");
        let id = app.experiment(&spec).await;
        let refused = app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.refused(400);
        assert!(refused.contains("`TOKEN`") && refused.contains("PUT /v1/secrets/TOKEN"), "{source}: {refused}");
        assert!(!file.exists());
        app.post(ADA, "/v1/runs", json!({"spec": spec, "secrets": {"OTHER": "swordfish"}})).await.refused(400);
        app.post(ADA, "/v1/runs", json!({"spec": spec, "secrets": {"TOKEN": "swordfish"}})).await.expect(202);
    }
    put(&app, ADA, "/v1/secrets/TOKEN", "swordfish").await.expect(200);
    let spec = format!("{HELLO}secrets: [TOKEN, {{name: G, from: generated}}, {{name: S, from: 'static://value'}}]\n");
    app.post(ADA, "/v1/runs", json!({ "spec": spec })).await.expect(202);
    app.post(BOB, "/v1/runs", json!({ "spec": spec })).await.refused(400);
}

#[tokio::test]
async fn secrets_of_a_submission_are_sealed_for_their_experiment() {
    let app = TestApp::new().await;
    app.upload(ADA, &format!("{HELLO}secrets: [TOKEN]\n")).await.expect(201);
    let body = json!({"spec_id": "hello", "secrets": {"TOKEN": "swordfish", "NOT_NAMED": "whatever"}});
    let answer = app.post(ADA, "/v1/experiments", body).await;
    let id = answer.expect(201)["id"].as_str().expect("an id").to_owned();
    assert!(!answer.text().contains("swordfish"));
    let sealed = app.store.experiment_secrets(id.parse().expect("an id")).await.expect("read").expect("secrets");
    let opened = app.master_key.open(&sealed, &id).expect("opened");
    assert_eq!(String::from_utf8_lossy(&opened), r#"{"TOKEN":"swordfish"}"#);
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
    app.finish(scenario::result::RowStatus::Fail).await;
    let again = app.post_empty(ADA, &format!("/v1/experiments/{id}/rerun")).await.expect(202);
    let again = again["id"].as_str().expect("an id");
    let sealed = app.store.experiment_secrets(again.parse().expect("an id")).await.expect("read").expect("secrets");
    assert_eq!(app.master_key.open(&sealed, again).expect("opened"), opened);
    for path in ["", "/export", "/export?format=ndjson"] {
        assert!(!app.get(ADA, &format!("/v1/experiments/{id}{path}")).await.text().contains("swordfish"));
    }
    let short = json!({"spec_id": "hello", "secrets": {"TOKEN": "abc"}});
    app.post(ADA, "/v1/experiments", short).await.refused(400);
}
