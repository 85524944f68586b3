//! Points of a stock client's checklist that no other file covers.

use std::time::Duration;

use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::test_app::{ADA, HELLO, TestApp, replicas};

/// Calls a function with the path and the value of everything in a document.
fn walk(path: &str, value: &Value, look: &mut impl FnMut(&str, &Value)) {
    look(path, value);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| walk(&format!("{path}.{name}"), field, look)),
        Value::Array(items) => items.iter().for_each(|item| walk(&format!("{path}[]"), item, look)),
        _ => {}
    }
}

/// All that clients read about an experiment, at each moment of its life.
async fn bodies(app: &TestApp) -> Vec<Value> {
    let id = app.experiment(&replicas(2)).await;
    let path = format!("/v1/experiments/{id}");
    let mut bodies = vec![app.get(ADA, "/v1/specs/hello").await.expect(200), app.get(ADA, &path).await.expect(200)];
    bodies.push(app.post_empty(ADA, &format!("{path}/run")).await.expect(202));
    bodies.push(app.get(ADA, &path).await.expect(200));
    app.finish_one(RowStatus::Error).await;
    bodies.push(app.get(ADA, &path).await.expect(200));
    app.finish_one(RowStatus::Pass).await;
    for path in [path.clone(), "/v1/experiments".to_owned(), "/v1/scenarios".to_owned(), format!("{path}/export")] {
        bodies.push(app.get(ADA, &path).await.expect(200));
    }
    bodies.push(app.get(ADA, &format!("/v1/metrics/experiments/{id}")).await.expect(200));
    bodies.push(
        app.post(ADA, "/v1/experiments/compare", json!({"baseline_id": id, "candidate_id": id})).await.expect(200),
    );
    bodies
}

#[tokio::test]
async fn times_are_rfc_3339_and_milliseconds_and_counts_are_whole() {
    let app = TestApp::new().await;
    let mut seen = 0;
    for body in bodies(&app).await {
        walk("", &body, &mut |path, value| {
            let name = path.rsplit('.').next().unwrap_or_default();
            // In one place every number is a float, by name; and what a spec says is its author's.
            let is_by_name = path.contains(".metrics.") && body.get("cost_trend").is_some();
            if is_by_name || body.get("content").is_some() && path.matches('.').count() > 1 {
                return;
            }
            if name.ends_with("_at") || name == "ts" {
                let text = value.as_str().unwrap_or_else(|| panic!("{path} is {value}"));
                text.parse::<jiff::Timestamp>().unwrap_or_else(|_| panic!("{path} is {value}"));
                seen += 1;
            }
            let is_whole = name.ends_with("_ms")
                || matches!(
                    name,
                    "total_scenarios" | "passed" | "failed" | "flaky" | "errors" | "run" | "seed" | "version"
                )
                || matches!(name, "tool_calls" | "exit_code" | "mean_tokens" | "side_effect_violations" | "total_runs");
            if is_whole && !(name == "passed" && value.is_boolean()) {
                assert!(value.is_i64() || value.is_u64(), "{path} is {value}");
                seen += 1;
            }
        });
    }
    assert!(seen > 50, "{seen}");
}

#[tokio::test]
async fn ids_need_no_escaping() {
    let app = TestApp::new().await;
    for body in bodies(&app).await {
        walk("", &body, &mut |path, value| {
            let name = path.rsplit('.').next().unwrap_or_default();
            if name == "id" || name.ends_with("_id") || name == "next_cursor" {
                let Some(id) = value.as_str() else { return };
                assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{path} is {id}");
            }
        });
    }
}

#[tokio::test]
async fn the_workspace_of_a_client_is_passed_over() {
    let app = TestApp::new().await;
    let headers = [("x-polarity-workspace", "mine"), ("content-type", "application/x-yaml")];
    app.call(http::Method::POST, ADA, "/v1/specs", &headers, HELLO).await.expect(201);
}

#[tokio::test]
async fn deletes_have_no_body_and_everything_else_has_json() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    let run = app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await;
    assert_eq!((run.status.as_u16(), run.header("content-type")), (202, "application/json"));
    let deleted = app.delete(ADA, "/v1/specs/hello").await;
    assert_eq!((deleted.status.as_u16(), deleted.body.len()), (204, 0));
}

#[tokio::test]
async fn no_call_takes_longer_than_clients_wait() {
    let app = TestApp::with(|config| config.answer_within = Duration::from_millis(200)).await;
    let id = app.running(HELLO).await;
    let late = app.get(ADA, &format!("/v1/experiments/{id}?wait=20s")).await;
    let message = late.refused(503);
    assert!(message.contains("longer than 0.2 s") && late.header("retry-after") == "1", "{message}");
    app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
}
