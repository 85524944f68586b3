//! Limits of the model, and limits of the record.

use scenario::evidence::{Body, Limit};
use serde_json::json;

use crate::model::ModelGatewayLimits;
use crate::model::testing::{Running, SECRET, chat, settings, text};

const ENDLESS: &str = "on_exhausted: repeat_last, turns: [{content: a, prompt_tokens: 6, completion_tokens: 4}]";

#[tokio::test]
async fn the_first_call_beyond_the_number_fires() {
    let running = Running::scripted(&format!("limits: {{max_calls: 2}}, {ENDLESS}"));
    for _ in 0..2 {
        assert_eq!(running.chat("x").await.status, 200);
    }
    assert_eq!(running.gateway.fired(), None);
    let refused = running.chat("x").await;
    assert_eq!((refused.status, refused.header("x-should-retry")), (429, Some("false")));
    assert!(refused.text.contains("model.max_calls"), "{}", refused.text);
    assert_eq!(running.gateway.limit_fired().await.limit, Limit::ModelCalls);
    assert_eq!(running.get("/v1/models").await.status, 200, "what costs nothing is still answered");
    assert_eq!(running.gateway.usage().calls, 2);
}

#[tokio::test]
async fn tokens_and_cost_fire_after_the_call_that_goes_beyond() {
    for (limit, expected) in [("max_tokens: 19", Limit::ModelTokens), ("max_cost_usd: 19.5", Limit::ModelCost)] {
        let running = Running::scripted(&format!("limits: {{{limit}}}, {ENDLESS}"));
        assert_eq!(running.chat("x").await.status, 200);
        assert_eq!(running.gateway.fired(), None);
        assert_eq!(running.chat("x").await.status, 200, "the answer itself is still given");
        assert_eq!(running.gateway.limit_fired().await.limit, expected);
        assert_eq!(running.chat("x").await.status, 429);
        assert_eq!(running.gateway.usage().calls, 2);
    }
}

#[tokio::test]
async fn a_model_without_a_price_cannot_be_used_with_a_limit_of_cost() {
    let running = Running::scripted(&format!("limits: {{max_cost_usd: 1}}, {ENDLESS}"));
    let mut request = chat("x");
    request["model"] = json!("other");
    let refused = running.post("/v1/chat/completions", request.clone()).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!("model_without_price")));
    assert!(running.only_call().problem.is_some_and(|problem| problem.contains("`other` has no price")));
    assert_eq!(running.gateway.usage().cost_usd, Some(0.0));
    let running = Running::scripted(ENDLESS);
    running.post("/v1/chat/completions", request).await;
    running.chat("x").await;
    assert_eq!(running.gateway.usage().cost_usd, None, "one call has no price");
}

#[tokio::test]
async fn calls_and_bytes_beyond_what_is_kept_are_counted() {
    let limits =
        ModelGatewayLimits { kept_calls: 3, kept_body_bytes: 80, kept_bytes: 600, ..ModelGatewayLimits::default() };
    let running = Running::with_limits(settings(&format!("mode: scripted, {ENDLESS}"), None, None), limits);
    running.chat(&"x".repeat(100)).await;
    for _ in 0..4 {
        running.chat("x").await;
    }
    let record = running.record();
    assert_eq!((record.calls.len(), record.only_counted, running.gateway.usage().calls), (3, 2, 5));
    assert!(matches!(&record.calls[0].request, Body::Cut { kept, size, .. } if kept.0.len() == 80 && *size > 100));
    assert!(matches!(&record.calls[0].response, Body::Cut { .. }));
}

#[tokio::test]
async fn tools_beyond_what_is_kept_are_counted() {
    let limits = ModelGatewayLimits { kept_tools: 2, ..ModelGatewayLimits::default() };
    let script = "mode: scripted, on_exhausted: repeat_last, turns: [{tool_calls: [{name: f}]}]";
    let running = Running::with_limits(settings(script, None, None), limits);
    for _ in 0..4 {
        running.chat("x").await;
    }
    let record = running.record();
    assert_eq!((running.gateway.call_trace().sightings().len(), record.tools_only_counted), (2, 2));
}

#[tokio::test]
async fn secrets_are_in_nothing_that_is_kept() {
    let running =
        Running::scripted("turns: [{tool_calls: [{name: f, arguments: {a: '{{ secrets.KEY }}'}}]}, {content: b}]");
    let mut request = chat(SECRET);
    request["model"] = json!(SECRET);
    running.post("/v1/chat/completions", request).await;
    running.post_bytes("/v1/chat/completions", format!("no JSON {SECRET}")).await;
    let record = running.record();
    let trace = running.gateway.call_trace();
    let kept = serde_json::to_string(&(&record, &trace)).expect("JSON");
    assert!(!kept.contains(SECRET) && kept.contains("[redacted:KEY:k1]"), "{kept}");
    assert_eq!(trace.0[0].arguments, json!({"a": "[redacted:KEY:k1]"}));
    assert!(!running.gateway.usage().model.contains(SECRET));
    assert!(text(&record.calls[1].request).contains("no JSON [redacted"));
}
