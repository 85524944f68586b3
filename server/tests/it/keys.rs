//! Keys.

use serde_json::json;

use crate::test_app::{ADA, ADA_READS, ADMIN, HELLO, TestApp};

#[tokio::test]
async fn a_key_is_shown_once_and_works_until_it_is_revoked() {
    let app = TestApp::new().await;
    let made =
        app.post(ADMIN, "/v1/keys", json!({"owner": "carol", "scope": "submit", "name": "ci"})).await.expect(201);
    let key = made["key"].as_str().expect("a key");
    assert!(key.starts_with("ts_live_") && key.len() == 51, "{key}");
    assert_eq!((&made["owner"], &made["scope"], &made["name"]), (&json!("carol"), &json!("submit"), &json!("ci")));
    let id = made["id"].as_str().expect("an id");
    app.upload(key, HELLO).await.expect(201);
    let listed = app.get(ADMIN, "/v1/keys").await;
    assert!(!listed.text().contains(key) && !listed.text().contains(&server::auth::hash(key)));
    let keys = listed.expect(200);
    let shown = keys.as_array().expect("keys").iter().find(|one| one["id"] == id).expect("the key");
    assert!(shown["last_used_at"].is_string() && shown.get("revoked_at").is_none(), "{shown}");
    assert_eq!(app.get(ADMIN, "/v1/keys?owner=carol").await.expect(200).as_array().expect("keys").len(), 1);
    app.delete(ADMIN, &format!("/v1/keys/{id}")).await.expect(204);
    app.get(key, "/v1/specs").await.refused(401);
    app.delete(ADMIN, &format!("/v1/keys/{id}")).await.refused(404);
    app.delete(ADMIN, "/v1/keys/none").await.refused(404);
}

#[tokio::test]
async fn only_admins_have_anything_to_do_with_keys() {
    let app = TestApp::new().await;
    for key in [ADA, ADA_READS] {
        app.get(key, "/v1/keys").await.refused(403);
        app.delete(key, "/v1/keys/key_ada").await.refused(403);
        app.post(key, "/v1/keys", json!({"owner": "ada", "scope": "admin"})).await.refused(403);
    }
}

#[tokio::test]
async fn keys_that_make_no_sense_are_not_made() {
    let app = TestApp::new().await;
    for body in [
        json!({}),
        json!({"owner": "ada"}),
        json!({"owner": "ada", "scope": "god"}),
        json!({"owner": "ada", "scope": "sandbox"}),
        json!({"owner": "", "scope": "read"}),
        json!({"owner": "a b", "scope": "read"}),
        json!({"owner": "a".repeat(65), "scope": "read"}),
        json!({"owner": "ada", "scope": "read", "name": "x".repeat(201)}),
    ] {
        app.post(ADMIN, "/v1/keys", body).await.refused(400);
    }
}
