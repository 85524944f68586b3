//! Specs.

use http::Method;
use serde_json::{Value, json};

use crate::test_app::{ADA, HELLO, TestApp};

#[tokio::test]
async fn a_spec_comes_back_as_it_was_read() {
    let app = TestApp::new().await;
    let uploaded = app.upload(ADA, HELLO).await.expect(201);
    for (key, expected) in [
        ("id", json!("hello")),
        ("name", json!("hello")),
        ("version", json!(1)),
        ("description", json!("Says hello")),
        ("content", json!(HELLO)),
        ("base", json!("debian:bookworm-slim")),
        ("owner", json!("ada")),
        ("warnings", json!([])),
        ("created_at", json!("2023-11-14T22:13:20Z")),
    ] {
        assert_eq!(uploaded[key], expected, "{key}");
    }
    assert_eq!(uploaded["task"]["prompt"], "Say hello");
    assert_eq!(uploaded["invariants"]["greeted"]["check"]["type"], "file_exists");
    assert_eq!(app.get(ADA, "/v1/specs/hello").await.expect(200), uploaded);
    assert_eq!(app.get(ADA, "/v1/specs").await.expect(200), json!([uploaded]));
}

#[tokio::test]
async fn another_content_is_another_version_and_the_same_is_not() {
    let app = TestApp::new().await;
    let other = format!("{HELLO}tags: [x]\n");
    let version = async |text: &str| app.upload(ADA, text).await.expect(201)["version"].as_u64().expect("a number");
    assert_eq!(version(HELLO).await, 1);
    assert_eq!(version(HELLO).await, 1);
    assert_eq!(version(&other).await, 2);
    assert_eq!(version(HELLO).await, 3, "who goes back means the newest upload");
    assert_eq!(app.get(ADA, "/v1/specs/hello").await.expect(200)["content"], HELLO);
}

#[tokio::test]
async fn yaml_is_taken_under_all_its_names() {
    let app = TestApp::new().await;
    for kind in
        ["application/x-yaml", "text/yaml", "application/yaml", "text/plain; charset=utf-8", "application/octet-stream"]
    {
        app.call(Method::POST, ADA, "/v1/specs", &[("content-type", kind)], HELLO).await.expect(201);
    }
    app.call(Method::POST, ADA, "/v1/specs", &[], HELLO).await.expect(201);
    let parsed = app.get(ADA, "/v1/specs/hello").await.json();
    let json = json!({
        "version": 1, "id": "as-json", "base": parsed["base"], "task": {"prompt": "x"}, "agent": {"type": "noop"},
        "invariants": {"greeted": {"description": "x", "check": {"type": "file_exists", "path": "x"}}},
    });
    app.post(ADA, "/v1/specs", json).await.expect(201);
    let refused = app.call(Method::POST, ADA, "/v1/specs", &[("content-type", "image/png")], HELLO).await;
    assert!(refused.refused(415).contains("application/x-yaml"));
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_once() {
    let app = TestApp::new().await;
    let answer = app.upload(ADA, "version: 1\nid: Hello World\nbase: x\ntask: {promt: x}\n").await;
    let text = answer.refused(400);
    for wanted in ["the spec is not valid", "`id`", "promt", "invariants", "spec.yaml:2:5"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let body = answer.json();
    assert_eq!(body["code"], "invalid_spec");
    let findings = body["findings"].as_array().expect("findings");
    assert!(findings.len() >= 3, "{findings:?}");
    let first = findings.iter().find(|finding| finding["path"] == "id").expect("a finding");
    assert_eq!(
        (first["path"].as_str(), first["line"].as_u64(), first["column"].as_u64()),
        (Some("id"), Some(2), Some(5))
    );
    assert!(findings.iter().all(|finding| finding["code"].is_string() && finding["message"].is_string()));
    assert_eq!(app.get(ADA, "/v1/specs").await.expect(200), json!([]));
}

#[tokio::test]
async fn text_that_is_none_and_text_that_is_too_long_are_refused() {
    let app = TestApp::new().await;
    let yaml = [("content-type", "text/yaml")];
    let upload = async |body: Vec<u8>| app.call(Method::POST, ADA, "/v1/specs", &yaml, body).await;
    assert!(upload(vec![b'a', 0xff]).await.refused(400).contains("UTF-8"));
    upload(Vec::new()).await.refused(400);
    upload(vec![b'#'; (1 << 20) + 1]).await.refused(413);
    let app = TestApp::with(|config| config.upload_bytes = 100).await;
    app.upload(ADA, HELLO).await.refused(413);
}

#[tokio::test]
async fn a_spec_that_was_removed_is_gone_but_its_experiments_are_not() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    let answer = app.delete(ADA, "/v1/specs/hello").await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (204, 0));
    app.get(ADA, "/v1/specs/hello").await.refused(404);
    app.delete(ADA, "/v1/specs/hello").await.refused(404);
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
    assert_eq!(app.upload(ADA, HELLO).await.expect(201)["version"], 2, "no number is given twice");
}

#[tokio::test]
async fn lists_go_on_where_the_last_part_ended() {
    let app = TestApp::new().await;
    for name in ["a", "b", "c", "d", "e"] {
        app.upload(ADA, &HELLO.replace("id: hello", &format!("id: {name}"))).await.expect(201);
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let answer = app.get(ADA, &format!("/v1/specs?limit=2&cursor={cursor}")).await;
        let page = answer.expect(200);
        let page = page.as_array().expect("an array");
        assert!(page.len() <= 2);
        names.extend(page.iter().map(|spec| spec["id"].as_str().expect("an id").to_owned()));
        cursor = answer.header("x-next-cursor").to_owned();
        assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{cursor}");
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    app.get(ADA, "/v1/specs?cursor=none").await.refused(400);
    app.get(ADA, "/v1/specs?limit=many").await.refused(400);
}

#[tokio::test]
async fn static_secrets_are_not_repeated_in_sections() {
    let app = TestApp::new().await;
    let spec = format!("{HELLO}secrets: [{{name: TOKEN, from: 'static://swordfish'}}]\n");
    let uploaded: Value = app.upload(ADA, &spec).await.expect(201);
    assert_eq!(uploaded["secrets"][0]["from"], "static://[redacted]");
}
