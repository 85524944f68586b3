//! Tests with requests that nobody should send.

use futures::future::join_all;
use serde_json::json;

use crate::model::ModelGatewayLimits;
use crate::model::testing::{Running, chat, settings};

const SCRIPT: &str = "on_exhausted: repeat_last, turns: [{content: a}]";

#[tokio::test]
async fn what_is_no_call_is_refused_and_costs_nothing() {
    let running = Running::scripted(SCRIPT);
    let check = async |path: &str, body: Vec<u8>, status: u16| {
        let answer = running.post_bytes(path, body).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert!(answer.json()["error"]["message"].is_string());
    };
    check("/v1/chat/completions", Vec::new(), 400).await;
    check("/v1/chat/completions", b"[1]".to_vec(), 400).await;
    check("/v1/chat/completions", b"{\"model\": \"\xff\"}".to_vec(), 400).await;
    check("/v1/chat/completions", b"[".repeat(100_000), 400).await;
    check("/v1/chat/completions", br#"{"messages": []}"#.to_vec(), 400).await;
    check("/v1/chat/completions", br#"{"model": 7, "messages": []}"#.to_vec(), 400).await;
    check("/v1/chat/completions", br#"{"model": "m"}"#.to_vec(), 400).await;
    check("/v1/chat/completions", br#"{"model": "m", "messages": [], "n": 0}"#.to_vec(), 400).await;
    check("/v1/chat/completions", br#"{"model": "m", "messages": [], "n": 1e9}"#.to_vec(), 400).await;
    check("/v1/messages", b"{}".to_vec(), 400).await;
    check("/v1/embeddings", br#"{"model": "m"}"#.to_vec(), 400).await;
    assert_eq!(running.gateway.usage().calls, 0);
    assert_eq!(running.record().unused_turns, [0]);
}

#[tokio::test]
async fn odd_requests_are_answered() {
    let running = Running::scripted(SCRIPT);
    for request in [
        json!({"model": "m", "messages": [1, null, {"role": 5, "content": {"a": [[]]}}], "stream": "yes", "tools": 3}),
        json!({"model": "m", "messages": [{"role": "tool", "tool_call_id": {}, "content": [1, {"text": 2}]}], "stream_options": []}),
    ] {
        assert_eq!(running.post("/v1/chat/completions", request).await.status, 200);
    }
    assert_eq!(running.post("/v1/responses", json!({"model": "m"})).await.status, 200);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let running = Running::scripted(SCRIPT);
    let answer = running.post_bytes("/v1/chat/completions", vec![b' '; 17 * 1024 * 1024]).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &json!("request_too_large")));
    assert_eq!(running.only_call().status, 413);
}

#[tokio::test]
async fn requests_beyond_the_memory_are_refused_until_there_is_room() {
    let limits = ModelGatewayLimits { under_way_bytes: 64 * 1024, ..ModelGatewayLimits::default() };
    let running = Running::with_limits(settings(&format!("mode: scripted, {SCRIPT}"), None, None), limits);
    let refused = running.chat(&"x".repeat(10_000)).await;
    assert_eq!((refused.status, refused.header("x-should-retry")), (503, None));
    assert_eq!(running.chat("x").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_at_once_are_all_answered_and_recorded() {
    let running = Running::scripted("turns: [{content: a}], on_exhausted: repeat_last, limits: {max_calls: 900}");
    let statuses = join_all((0..1000).map(|number| {
        let request = running.request("/v1/chat/completions", chat(&number.to_string()).to_string());
        async move { request.send().await.expect("an answer").status().as_u16() }
    }))
    .await;
    let answered = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!((answered, refused), (900, 100), "never more than the limit");
    assert_eq!((running.record().calls.len(), running.gateway.usage().calls), (1000, 900));
}
