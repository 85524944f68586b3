//! Callers and their permissions.

use serde_json::json;

use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, HELLO, SANDBOX, TestApp};

#[tokio::test]
async fn health_needs_no_key() {
    let app = TestApp::new().await;
    for path in ["/health", "/healthz", "/readyz"] {
        assert_eq!(app.get("", path).await.expect(200)["status"], "ok", "{path}");
    }
}

#[tokio::test]
async fn a_key_is_needed_and_must_be_known() {
    let app = TestApp::new().await;
    assert!(app.get("", "/v1/specs").await.refused(401).contains("touchstone key create"));
    assert!(app.get("ts_live_nobody", "/v1/specs").await.refused(401).contains("not known"));
    let answer = app.get("", "/v1/specs").await;
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    app.get(ADA, "/v1/specs").await.expect(200);
}

#[tokio::test]
async fn a_key_is_read_from_both_headers() {
    let app = TestApp::new().await;
    for (name, value) in [("x-api-key", ADA.to_owned()), ("authorization", format!("bearer {ADA}"))] {
        let answer = app.call(http::Method::GET, "", "/v1/specs", &[(name, &value)], "").await;
        answer.expect(200);
    }
}

#[tokio::test]
async fn who_may_read_only_changes_nothing() {
    let app = TestApp::new().await;
    app.upload(ADA, HELLO).await.expect(201);
    assert!(app.upload(ADA_READS, HELLO).await.refused(403).contains("--scope submit"));
    app.get(ADA_READS, "/v1/specs/hello").await.expect(200);
    app.delete(ADA_READS, "/v1/specs/hello").await.refused(403);
    let id = app.experiment(HELLO).await;
    app.post(ADA_READS, "/v1/experiments", json!({"spec_id": "hello"})).await.refused(403);
    app.post_empty(ADA_READS, &format!("/v1/experiments/{id}/run")).await.refused(403);
    app.get(ADA_READS, &format!("/v1/experiments/{id}")).await.expect(200);
}

#[tokio::test]
async fn a_sandboxs_token_is_good_for_its_sandbox_only() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    for path in ["/v1/specs".to_owned(), "/v1/experiments".to_owned(), format!("/v1/experiments/{id}")] {
        app.get(SANDBOX, &path).await.refused(403);
    }
    app.upload(SANDBOX, HELLO).await.refused(403);
}

#[tokio::test]
async fn owners_see_their_own_and_admins_see_all() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    app.get(BOB, "/v1/specs/hello").await.refused(404);
    assert!(app.get(BOB, &format!("/v1/experiments/{id}")).await.refused(403).contains("another owner"));
    app.post_empty(BOB, &format!("/v1/experiments/{id}/run")).await.refused(403);
    assert_eq!(app.get(BOB, "/v1/experiments").await.expect(200), json!([]));
    assert_eq!(app.get(BOB, "/v1/specs").await.expect(200), json!([]));
    app.get(BOB, "/v1/specs?owner=ada").await.refused(403);
    app.get(ADMIN, &format!("/v1/experiments/{id}")).await.expect(200);
    assert_eq!(app.get(ADMIN, "/v1/experiments").await.expect(200)[0]["owner"], "ada");
    assert_eq!(app.get(ADMIN, "/v1/specs").await.expect(200)[0]["owner"], "ada");
    assert_eq!(app.get(ADMIN, "/v1/specs?owner=bob").await.expect(200), json!([]));
    app.get(ADMIN, "/v1/specs/hello").await.refused(404);
    app.get(ADMIN, "/v1/specs/hello?owner=ada").await.expect(200);
}

#[tokio::test]
async fn admins_submit_for_others() {
    let app = TestApp::new().await;
    let yaml = [("content-type", "text/yaml")];
    let uploaded = app.call(http::Method::POST, ADMIN, "/v1/specs?owner=bob", &yaml, HELLO).await.expect(201);
    assert_eq!(uploaded["owner"], "bob");
    let made = app.post(ADMIN, "/v1/experiments?owner=bob", json!({"spec_id": "hello"})).await.expect(201);
    let id = made["id"].as_str().expect("an id");
    app.get(BOB, &format!("/v1/experiments/{id}")).await.expect(200);
    app.post(ADA, "/v1/experiments?owner=bob", json!({"spec_id": "hello"})).await.refused(403);
    app.call(http::Method::POST, ADMIN, "/v1/specs?owner=b%20ob", &yaml, HELLO).await.refused(400);
}

#[tokio::test]
async fn an_open_server_answers_under_a_name_of_this_machine_only() {
    let app = TestApp::open().await;
    let ask = async |host: &str| app.call(http::Method::GET, "", "/v1/specs", &[("host", host)], "").await;
    for host in ["localhost:8012", "127.0.0.1:8012", "[::1]:8012", "localhost"] {
        ask(host).await.expect(200);
    }
    for host in ["evil.example:8012", "127.0.0.1.evil.example", "10.0.0.1"] {
        ask(host).await.refused(403);
    }
    let from = async |origin: &str| {
        app.call(http::Method::POST, "", "/v1/specs", &[("host", "localhost:8012"), ("origin", origin)], HELLO).await
    };
    from("http://localhost:3000").await.expect(201);
    for origin in ["https://evil.example", "null", "http://localhost.evil.example:8012"] {
        from(origin).await.refused(403);
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let app = TestApp::with(|config| config.reads_a_second = std::num::NonZeroU32::new(2)).await;
    let mut refused = None;
    for _ in 0..20 {
        let answer = app.get(ADA, "/v1/specs").await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a refusal");
    refused.refused(429);
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
    app.get(BOB, "/v1/specs").await.expect(200);
}

#[tokio::test]
async fn what_is_not_there_says_so_in_json() {
    let app = TestApp::new().await;
    app.get(ADA, "/v1/nothing").await.refused(404);
    app.get(ADA, "/nothing").await.refused(404);
    app.delete(ADA, "/v1/specs").await.refused(405);
    for path in ["/v1/prompts", "/v1/judges/x/evaluate", "/v1/workspaces", "/v1/usage/events", "/otel/v1/traces"] {
        app.get(ADA, path).await.refused(501);
        app.get("", path).await.refused(401);
    }
}
