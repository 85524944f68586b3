//! Every mode of `llm_faults`, in every dialect, streamed and whole.

use std::sync::Arc;

use scenario::plan::Seed;
use scenario::spec::load;
use serde_json::{Value as Json, json};

use crate::faults::FaultEngine;
use crate::model::ModelSettings;
use crate::model::testing::{Answer, Running, chat, settings};

const TURNS: &str = "mode: scripted, turns: [{content: 'one two three four five six', completion_tokens: 20}, \
                     {tool_calls: [{name: refund, arguments: {id: '12'}}]}, {content: last}]";

pub(super) fn faulted(faults: &str) -> (Running, Arc<FaultEngine>) {
    faulted_by(&format!("llm_faults: [{faults}]"))
}

fn faulted_by(chaos: &str) -> (Running, Arc<FaultEngine>) {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\nmodel: {{{TURNS}}}\n\
         chaos: {{{chaos}}}\ninvariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{text}: {:?}", loaded.diagnostics));
    let settings = settings(TURNS, None, None);
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(5), Arc::clone(&settings.clock)));
    engine.start();
    (Running::new(ModelSettings { faults: Some(Arc::clone(&engine)), ..settings }), engine)
}

fn content(answer: &Answer) -> String {
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

fn finish(answer: &Answer) -> Json {
    answer.json()["choices"][0]["finish_reason"].clone()
}

#[tokio::test]
async fn a_call_without_an_answer_uses_no_turn_and_no_tokens() {
    for (mode, status, code) in [
        ("rate_limit", 429, "rate_limit_exceeded"),
        ("error, error_code: 529", 529, "server_error"),
        ("context_length_exceeded", 400, "context_length_exceeded"),
    ] {
        let (running, engine) = faulted(&format!("{{mode: {mode}, times: 1}}"));
        let refused = running.chat("x").await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (status, &json!(code)), "{mode}");
        assert_eq!(refused.header("retry-after"), (status == 429).then_some("1"), "{mode}");
        assert_eq!(refused.header("x-should-retry"), None, "a provider does not say so");
        assert_eq!(content(&running.chat("x").await), "one two three four five six", "{mode}");
        let record = running.record();
        let turns: Vec<_> = record.calls.iter().map(|call| call.turn).collect();
        assert_eq!((turns, running.gateway.usage().calls), (vec![None, Some(0)], 1), "{mode}");
        assert_eq!(record.calls[0].fault.as_ref().map(|mark| mark.reached), Some(false));
        assert!(record.calls[1].fault.is_none() && engine.record().firings[0].retried_after_ms.is_some());
    }
}

#[tokio::test]
async fn a_backend_that_is_down_and_a_timeout_give_no_answer() {
    for mode in ["backend_down", "timeout, delay_ms: 5"] {
        let (running, engine) = faulted(&format!("{{mode: {mode}, times: 1}}"));
        running.request("/v1/chat/completions", chat("x").to_string()).send().await.expect_err("no answer");
        assert_eq!(content(&running.chat("x").await), "one two three four five six", "{mode}");
        let calls = running.record().calls;
        assert_eq!((calls[0].status, calls[0].turn, engine.record().total()), (0, None, 1), "{mode}");
    }
}

#[tokio::test]
async fn answers_are_changed_and_the_same_request_gets_its_turn_again() {
    let (running, _) = faulted("{mode: truncated_response, max_tokens: 2, times: 1}");
    let cut = running.chat("x").await;
    assert_eq!((content(&cut).as_str(), finish(&cut)), ("one two", json!("length")));
    assert_eq!(cut.json()["usage"]["completion_tokens"], 2);
    assert_eq!(content(&running.chat("x").await), "one two three four five six", "the same turn, whole");
    assert!(running.chat("y").await.text.contains("refund"), "the next turn");
    let (running, _) = faulted("{mode: truncated_response, max_tokens: 2, times: 1}");
    running.chat("x").await;
    assert!(running.chat("another").await.text.contains("refund"), "another request goes on");
}

#[tokio::test]
async fn texts_are_replaced() {
    let (running, _) = faulted("{mode: empty}");
    assert_eq!(content(&running.chat("x").await), "");
    let (running, _) = faulted("{mode: content_filter}");
    assert_eq!(finish(&running.chat("x").await), "content_filter");
    let (running, _) = faulted("{mode: garbage}");
    let garbage = content(&running.chat("x").await);
    assert!(!garbage.is_empty() && !garbage.contains("one"), "{garbage}");
    let (running, _) = faulted("{mode: response_drift, drift_type: verbosity_shift, direction: compress}");
    assert_eq!(content(&running.chat("x").await), "one two three");
}

#[tokio::test]
async fn arguments_of_tools_are_broken_and_a_fault_without_an_effect_is_none() {
    let (running, engine) = faulted("{mode: tool_arguments, how: rename_keys}");
    assert_eq!(content(&running.chat("a").await), "one two three four five six");
    assert!(engine.record().is_vacuous() && running.record().calls[0].fault.is_none());
    let answer = running.chat("b").await.json();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], r#"{"id_v2":"12"}"#);
    assert_eq!(engine.record().total(), 1);
}

#[tokio::test]
async fn the_other_dialects_say_it_in_their_own_way() {
    let (running, _) = faulted("{mode: truncated_response, max_tokens: 1}");
    let message = running.post("/v1/messages", json!({"model": "m", "max_tokens": 9, "messages": []})).await.json();
    assert_eq!((&message["stop_reason"], &message["content"][0]["text"]), (&json!("max_tokens"), &json!("one")));
    let (running, _) = faulted("{mode: content_filter}");
    let response = running.post("/v1/responses", json!({"model": "m", "input": "x"})).await.json();
    assert_eq!(
        (&response["status"], &response["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("content_filter"))
    );
    let (running, _) = faulted("{mode: rate_limit}");
    let refused = running.post("/v1/messages", json!({"model": "m", "max_tokens": 9, "messages": []})).await;
    assert_eq!((refused.status, &refused.json()["error"]["type"]), (429, &json!("rate_limit_error")));
}

#[tokio::test]
async fn streams_are_cut_in_every_dialect() {
    let stream = |path: &'static str, more: Json| {
        let mut body = json!({"model": "m", "stream": true});
        body.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        (path, body)
    };
    for (path, body) in [
        stream("/v1/chat/completions", json!({"messages": []})),
        stream("/v1/messages", json!({"messages": [], "max_tokens": 9})),
        stream("/v1/responses", json!({"input": "x"})),
    ] {
        let (running, engine) = faulted("{mode: cut_stream, after_chunks: 2, times: 1}");
        let mut response = running.request(path, body.to_string()).send().await.expect("a head");
        let mut text = String::new();
        let error = loop {
            match response.chunk().await {
                Ok(Some(part)) => text.push_str(&String::from_utf8_lossy(&part)),
                Ok(None) => panic!("{path}: the stream ended in order: {text}"),
                Err(error) => break error,
            }
        };
        assert_eq!(text.matches("\n\n").count(), 2, "{path}: {text} {error}");
        assert!(!text.contains("[DONE]") && !text.contains("message_stop") && !text.contains("response.completed"));
        let whole = running.post(path, body).await;
        assert!(whole.text.contains("one two three"), "{path}: the same request gets the turn that it would have had");
        assert_eq!(engine.record().total(), 1);
    }
}

#[tokio::test]
async fn lists_of_models_and_embeddings_are_spared() {
    let (running, engine) = faulted("{mode: error}");
    assert_eq!(running.get("/v1/models").await.status, 200);
    assert_eq!(running.post("/v1/embeddings", json!({"model": "m", "input": "x"})).await.status, 200);
    assert_eq!((engine.record().rules[0].matched, running.chat("x").await.status), (0, 500));
}

#[tokio::test]
async fn connections_to_the_model_are_faulted_and_use_no_turn() {
    let (running, engine) = faulted_by("network_faults: [{mode: partition, services: [model], times: 1}]");
    let request = running.request("/v1/chat/completions", chat("x").to_string());
    let error = request.timeout(std::time::Duration::from_millis(300)).send().await.expect_err("no answer");
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(content(&running.chat("x").await), "one two three four five six");
    assert_eq!(running.record().calls.len(), 1, "nothing of the first call arrived");
    let record = engine.record();
    assert_eq!((record.rules[0].matched, record.firings[0].target.as_str()), (2, "model"));
}
