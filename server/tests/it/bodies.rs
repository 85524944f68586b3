//! Bodies that are too large, broken, or of another shape, on every route that takes one.

use http::Method;
use serde_json::{Value, json};

use crate::openapi::{filled, operations};
use crate::test_app::{ADMIN, Answer, TestApp};

/// Asserts that a route answers neither a failure of ours nor something that is no JSON.
#[track_caller]
fn check(what: &str, answer: &Answer) {
    let status = answer.status.as_u16();
    assert!(status < 500 || matches!(status, 501 | 503), "{what}: {status} {}", answer.text());
    if status >= 400 {
        let body: Value = serde_json::from_slice(&answer.body)
            .unwrap_or_else(|_| panic!("{what}: {status} without JSON: {}", answer.text()));
        assert!(
            body["error"].is_string() && body["message"] == body["error"] && body["code"].is_string(),
            "{what}: {body}"
        );
    }
}

fn bodies() -> Vec<(Method, String)> {
    let takes_one = |(method, path, operation): (Method, String, Value)| {
        operation.get("requestBody").is_some().then(|| (method, filled(&path)))
    };
    operations().into_iter().filter_map(takes_one).collect()
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused() {
    let app = TestApp::with(|config| {
        config.body_bytes = 1000;
        config.upload_bytes = 1000;
        config.writes_a_second = None;
    })
    .await;
    let large = json!({ "x": "y".repeat(2000) }).to_string();
    let routes = bodies();
    assert!(routes.len() > 10, "{routes:?}");
    for (method, path) in routes {
        for kind in ["application/json", "application/gzip", "multipart/form-data; boundary=x"] {
            let answer = app.call(method.clone(), ADMIN, &path, &[("content-type", kind)], large.clone()).await;
            check(&format!("{method} {path} {kind}"), &answer);
            let is_refused = matches!(answer.status.as_u16(), 400 | 404 | 409 | 413 | 415);
            assert!(is_refused, "{method} {path} {kind}: {} {}", answer.status, answer.text());
        }
    }
}

#[tokio::test]
async fn bodies_that_are_broken_or_odd_are_refused() {
    let app = TestApp::new().await;
    let odd: [&[u8]; 12] = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"7",
        b"\"text\"",
        b"{\"a\": 1} x",
        b"\xff\xfe\x00",
        b"{\"name\": 7, \"spec_id\": [], \"spec\": {}, \"secrets\": 1, \"owner\": {}, \"value\": null, \"events\": 1}",
        b"{\"name\": \"\\u0000\", \"spec_id\": \"\\u0000\", \"reason\": \"\\u0000\", \"value\": \"\\u0000\\u0000\\u0000\\u0000\"}",
        b"{\"seed\": 1e400}",
        b"{\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": {\"a\": 1}}}}}}}}}}}}",
    ];
    for (method, path) in bodies() {
        for body in odd {
            for kind in ["application/json", "application/x-yaml", "multipart/form-data; boundary=x", "x/y", ""] {
                let headers = [("content-type", kind)];
                let headers = if kind.is_empty() { &headers[..0] } else { &headers[..] };
                let answer = app.call(method.clone(), ADMIN, &path, headers, body.to_vec()).await;
                check(&format!("{method} {path} {kind} {}", String::from_utf8_lossy(body)), &answer);
            }
        }
    }
}

#[tokio::test]
async fn deep_bodies_do_not_fill_the_stack() {
    let app = TestApp::new().await;
    let deep = "[".repeat(100_000);
    for (method, path) in bodies() {
        for kind in ["application/json", "application/x-yaml"] {
            let answer = app.call(method.clone(), ADMIN, &path, &[("content-type", kind)], deep.clone()).await;
            check(&format!("{method} {path} {kind}"), &answer);
        }
    }
}

#[tokio::test]
async fn odd_queries_and_paths_are_answered_in_json() {
    let app = TestApp::new().await;
    for (method, path, operation) in operations() {
        if operation["responses"]["200"]["content"].get("text/event-stream").is_some() {
            continue;
        }
        let long = "x".repeat(3000);
        for part in ["%00", "%ff", "..", "%2e%2e%2f", long.as_str(), "a'b\"c", "%F0%9F%92%A3"] {
            let odd = path.split('/').map(|piece| if piece.starts_with('{') { part } else { piece });
            let odd = odd.collect::<Vec<_>>().join("/").replace('"', "%22");
            check(&format!("{method} {odd}"), &app.call(method.clone(), ADMIN, &odd, &[], "").await);
        }
        for query in [
            "limit=-1",
            "limit=x",
            "limit=99999999999999999999",
            "cursor=%00",
            "cursor=AAAA",
            "run=0",
            "run=x",
            "%ff=%ff",
            "owner=%00",
        ] {
            let odd = format!("{}?{query}", filled(&path));
            check(&format!("{method} {odd}"), &app.call(method.clone(), ADMIN, &odd, &[], "").await);
        }
    }
}
