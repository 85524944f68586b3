//! Traces that agents report, and searching them.

use http::Method;
use serde_json::{Value, json};

use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, SANDBOX, TestApp};

fn call(span: &str, phase: &str, tool: &str) -> Value {
    json!({
        "ts": "2026-01-02T03:04:05.123456+00:00", "event_type": "tool_call", "tool": tool, "phase": phase, "span_id": span,
        "parent_span_id": "", "root_span_id": "root", "status": "ok", "duration_ms": if phase == "end" { 12 } else { 0 },
        "output": if phase == "end" { "done" } else { "" },
    })
}

async fn report(app: &TestApp, events: Value) {
    let count = events.as_array().map_or(0, Vec::len);
    let ingested = app.post(ADA, "/v1/traces", json!({"events": events})).await.expect(200);
    assert_eq!(ingested, json!({"ingested": count, "dropped": 0}));
}

#[tokio::test]
async fn events_become_rows_with_whole_numbers_and_texts() {
    let app = TestApp::new().await;
    let mut event = call("a", "end", "read");
    event["cost"] = json!({"input_tokens": 5, "estimated_usd": 0.1});
    event["metadata"] = json!({"agent": "codex", "gen_ai.prompt": "p"});
    report(&app, json!([event])).await;
    let found = app.get(ADA_READS, "/v1/traces").await.expect(200);
    assert_eq!((&found["count"], &found["next_cursor"]), (&json!(1), &json!("")));
    let row = &found["items"][0];
    assert!(row["id"].is_u64() && row["duration_ms"].is_u64(), "{row}");
    assert_eq!(row["created_at"], "2026-01-02T03:04:05.123Z");
    assert_eq!((&row["tool"], &row["span_id"], &row["agent"]), (&json!("read"), &json!("a"), &json!("codex")));
    assert_eq!((&row["cost"]["input_tokens"], &row["self_reported"]), (&json!(5), &json!(true)));
    assert_eq!(row["output"], "done");
    report(&app, json!([{"event": "odd"}])).await;
    let odd = &app.get(ADA, "/v1/traces?limit=1").await.expect(200)["items"][0];
    assert_eq!((&odd["metadata"], &odd["cost"], &odd["duration_ms"]), (&json!({}), &json!({}), &json!(0)));
}

#[tokio::test]
async fn whatever_is_reported_is_taken_unless_it_is_no_json() {
    let app = TestApp::new().await;
    for (body, ingested) in [
        (json!({"events": ["odd", 7, null, {"span_id": {}}]}), 4),
        (json!({"tool": "t"}), 1),
        (json!([{"tool": "t"}]), 1),
        (json!({}), 0),
        (json!({"events": []}), 0),
    ] {
        assert_eq!(app.post(ADA, "/v1/traces", body.clone()).await.expect(200)["ingested"], ingested, "{body}");
    }
    assert_eq!(app.post_empty(ADA, "/v1/traces").await.expect(200)["ingested"], 0);
    app.call(Method::POST, ADA, "/v1/traces", &[], "{").await.refused(400);
    app.call(Method::POST, ADA, "/v1/traces", &[], vec![0xff]).await.refused(400);
    let many = json!({"events": vec![json!({}); 5003]});
    assert_eq!(app.post(ADA, "/v1/traces", many).await.expect(200), json!({"ingested": 5000, "dropped": 3}));
    let large = json!({"events": [{"tool": "t", "output": "x".repeat(100_000)}]});
    app.post(ADA, "/v1/traces", large).await.expect(200);
    let row = &app.get(ADA, "/v1/traces?tool=t&limit=1").await.expect(200)["items"][0];
    assert_eq!((&row["cut"], row.get("output")), (&json!(true), None));
    app.post(ADA, "/v1/traces", json!({"events": ["x".repeat(3 << 20)]})).await.refused(413);
}

#[tokio::test]
async fn secrets_that_are_kept_here_are_taken_out() {
    let app = TestApp::new().await;
    app.call(Method::PUT, ADA, "/v1/secrets/API_KEY", &[], r#"{"value": "s3cret-value"}"#).await.expect(200);
    report(&app, json!([{"tool": "t", "input": "use s3cret-value", "metadata": {"s3cret-value": ["s3cret-value"]}}]))
        .await;
    let found = app.get(ADA, "/v1/traces").await.text();
    assert!(!found.contains("s3cret-value") && found.contains("use [redacted:API_KEY]"), "{found}");
}

#[tokio::test]
async fn who_may_not_report_is_told_so() {
    let app = TestApp::new().await;
    let body = json!({"events": [{}]});
    app.post("", "/v1/traces", body.clone()).await.refused(401);
    app.post("ts_live_unknown", "/v1/traces", body.clone()).await.refused(401);
    app.post(ADA_READS, "/v1/traces", body.clone()).await.refused(403);
    app.post(SANDBOX, "/v1/traces", body).await.refused(403);
    app.get(SANDBOX, "/v1/traces").await.refused(403);
    app.get(SANDBOX, "/v1/spans").await.refused(403);
}

#[tokio::test]
async fn traces_are_found_by_filters_newest_first_and_in_parts() {
    let app = TestApp::new().await;
    for number in 0..5 {
        report(&app, json!([call(&format!("s{number}"), "end", if number % 2 == 0 { "even" } else { "odd" })])).await;
    }
    let spans = |body: &Value| -> Vec<String> {
        body["items"].as_array().unwrap().iter().map(|row| row["span_id"].as_str().unwrap().to_owned()).collect()
    };
    let first = app.get(ADA, "/v1/traces?limit=2").await.expect(200);
    assert_eq!(spans(&first), ["s4", "s3"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{cursor}");
    let second = app.get(ADA, &format!("/v1/traces?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!(spans(&second), ["s2", "s1"]);
    assert_eq!(spans(&app.get(ADA, "/v1/traces?tool=odd").await.expect(200)), ["s3", "s1"]);
    assert_eq!(spans(&app.get(ADA, "/v1/traces?event_type=llm_call").await.expect(200)), [""; 0]);
    assert_eq!(spans(&app.get(ADA, "/v1/traces?agent=&tool=odd&sandbox_id=").await.expect(200)), ["s3", "s1"]);
    assert_eq!(spans(&app.get(ADA, "/v1/traces?experiment_id=exp-123").await.expect(200)), [""; 0]);
    for (since, count) in [
        ("2026-01-01T00:00:00Z", 5),
        ("2026-01-02T04:00:00+01:00", 5),
        ("2026-01-02T04:00:00%2B00:00", 0),
        ("2027-01-01", 0),
    ] {
        assert_eq!(app.get(ADA, &format!("/v1/traces?since={since}")).await.expect(200)["count"], count, "{since}");
    }
    // The clock stands in 2023.
    assert_eq!(app.get(ADA, "/v1/traces?since=24h").await.expect(200)["count"], 5);
    app.get(ADA, "/v1/traces?since=yesterday").await.refused(400);
    app.get(ADA, "/v1/traces?cursor=nonsense").await.refused(400);
    assert_eq!(app.get(BOB, "/v1/traces").await.expect(200)["count"], 0);
    assert_eq!(app.get(ADMIN, "/v1/traces").await.expect(200)["count"], 5);
}

#[tokio::test]
async fn spans_of_a_tree_are_shown_together() {
    let app = TestApp::new().await;
    // The end may arrive before the beginning.
    let mut end = call("a", "end", "read");
    end["ts"] = json!("2026-01-02T03:04:06Z");
    let mut inner = call("b", "end", "write");
    inner["parent_span_id"] = json!("a");
    inner["ts"] = json!("2026-01-02T03:04:05.500Z");
    report(&app, json!([end, call("a", "start", "read"), inner])).await;
    let tree = app.get(ADA, "/v1/traces/root").await.expect(200);
    let spans = tree["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 2, "{tree}");
    assert_eq!(
        (&spans[0]["span_id"], &spans[0]["phase"], &spans[0]["output"]),
        (&json!("a"), &json!("end"), &json!("done"))
    );
    assert_eq!((&spans[1]["span_id"], &spans[1]["parent_span_id"]), (&json!("b"), &json!("a")));
    app.get(ADA, "/v1/traces/missing").await.refused(404);
    app.get(BOB, "/v1/traces/root").await.refused(404);
    for (query, count) in [
        ("trace_id=root", 3),
        ("root_span_id=root&tool=write", 1),
        ("span_id=a", 2),
        ("parent_span_id=a", 1),
        ("event_type=eval", 0),
    ] {
        assert_eq!(app.get(ADA, &format!("/v1/spans?{query}")).await.expect(200)["count"], count, "{query}");
    }
}
