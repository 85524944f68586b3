//! Faults that change answers of providers and recordings, in every dialect, streamed and whole.

use std::sync::Arc;

use scenario::cassette::{Cassette, Recording as _};
use scenario::evidence::Evidence;
use scenario::plan::Seed;
use scenario::spec::load;
use serde_json::{Value as Json, json};

use super::proxy::{FakeUpstream, answers, impatient, proxied};
use crate::faults::FaultEngine;
use crate::model::ModelSettings;
use crate::model::testing::{Running, chat, settings, text};
use crate::providers::{ProviderKind, Upstream};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const CHAT: &str = r#"{"id":"r1","model":"m-2026","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"one two three four","tool_calls":[{"id":"call_own","type":"function","function":{"name":"refund","arguments":"{\"id\": \"12\"}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":5}}"#;
const STREAM: &str = concat!(
    "data: {\"id\":\"r2\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"one two\"}}]}\r\n\r\n",
    "data: {\"id\":\"r2\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" three four\"},\"finish_reason\":\"stop\"}]}\r\n\r\n",
    "data: {\"id\":\"r2\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}\r\n\r\n",
    "data: [DONE]\r\n\r\n",
);
const MESSAGE: &str = r#"{"id":"msg_own","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"one two three"},{"type":"tool_use","id":"toolu_own","name":"refund","input":{"id":"12"}}],"stop_reason":"tool_use","usage":{"input_tokens":4,"output_tokens":6}}"#;
const RESPONSE: &str = r#"{"id":"resp_own","object":"response","model":"m","status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"one two three","annotations":[]}]}],"usage":{"input_tokens":4,"output_tokens":6}}"#;

fn engine(faults: &str, settings: &ModelSettings) -> Arc<FaultEngine> {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         model: {{mode: proxy, upstream: {{alias: main}}}}\nchaos: {{llm_faults: [{faults}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{text}: {:?}", loaded.diagnostics));
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(5), Arc::clone(&settings.clock)));
    engine.start();
    engine
}

/// A gateway with these faults before a provider that answers as told.
async fn faulted(
    faults: &str,
    provider: ProviderKind,
    told: &[(u16, &str, &str)],
) -> (Running, Arc<FaultEngine>, FakeUpstream) {
    let fake = FakeUpstream::start(answers(told)).await;
    let settings = proxied("", Upstream { provider, ..fake.upstream() });
    let engine = engine(faults, &settings);
    let settings = ModelSettings { faults: Some(Arc::clone(&engine)), ..settings };
    (Running::with_limits(settings, impatient()), engine, fake)
}

async fn chat_with(faults: &str, answer: &str) -> (Json, Running, Arc<FaultEngine>) {
    let (running, engine, _) = faulted(faults, ProviderKind::OpenAi, &[(200, JSON, answer)]).await;
    (running.chat("x").await.json(), running, engine)
}

/// A stream until it ends or breaks off, and whether it did.
async fn streamed(running: &Running, path: &str, body: &Json) -> (String, bool) {
    let mut response = running.request(path, body.to_string()).send().await.expect("a head");
    let mut text = String::new();
    loop {
        match response.chunk().await {
            Ok(Some(part)) => text.push_str(&String::from_utf8_lossy(&part)),
            Ok(None) => return (text, false),
            Err(_) => return (text, true),
        }
    }
}

fn streaming() -> Json {
    let mut body = chat("x");
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    body
}

#[tokio::test]
async fn what_the_provider_billed_stays_the_cost_and_its_answer_is_kept() {
    let (answer, running, engine) = chat_with("{mode: truncated_response, max_tokens: 2}", CHAT).await;
    let choice = &answer["choices"][0];
    assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("one two"), &json!("length")));
    assert_eq!((&answer["id"], &answer["model"]), (&json!("r1"), &json!("m-2026")));
    assert_eq!(answer["usage"]["completion_tokens"], 2, "what the agent is shown");
    let call = running.only_call();
    assert_eq!((call.tokens.input, call.tokens.output, call.cost_usd), (9, 5, Some(14.0)), "what was billed");
    assert_eq!(text(&call.response), answer.to_string());
    assert_eq!(call.original.as_ref().map(text).as_deref(), Some(CHAT));
    assert!(call.from_upstream && call.problem.is_none());
    assert_eq!(call.fault.map(|mark| (mark.mode, mark.reached)), Some(("truncated_response".to_owned(), true)));
    assert_eq!(engine.record().total(), 1);
}

#[tokio::test]
async fn every_mode_changes_the_answer_of_a_provider() {
    let content = |answer: &Json| answer["choices"][0]["message"]["content"].clone();
    assert_eq!(content(&chat_with("{mode: empty}", CHAT).await.0), "");
    let (filtered, ..) = chat_with("{mode: content_filter}", CHAT).await;
    assert_eq!(filtered["choices"][0]["finish_reason"], "content_filter");
    let (garbage, ..) = chat_with("{mode: garbage}", CHAT).await;
    assert!(!content(&garbage).as_str().expect("a text").contains("one"));
    let drift = "{mode: response_drift, drift_type: verbosity_shift, direction: compress}";
    let (drifted, ..) = chat_with(drift, CHAT).await;
    assert_eq!(content(&drifted), "one two");
    let tool = &drifted["choices"][0]["message"]["tool_calls"][0];
    assert_eq!((&tool["id"], &tool["function"]["arguments"]), (&json!("call_own"), &json!(r#"{"id":"12"}"#)));
    let (broken, running, _) = chat_with("{mode: tool_arguments, how: rename_keys}", CHAT).await;
    let tool = &broken["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(tool["function"]["arguments"], r#"{"id_v2":"12"}"#);
    assert_eq!(content(&broken), "one two three four", "the rest stays");
    assert!(text(&running.only_call().response).contains("id_v2"), "the evidence has what the agent got");
}

#[tokio::test]
async fn the_other_dialects_are_written_again_as_themselves() {
    let fault = "{mode: tool_arguments, how: strip}";
    let (running, ..) = faulted(fault, ProviderKind::Anthropic, &[(200, JSON, MESSAGE)]).await;
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]});
    let message = running.post("/v1/messages", body).await.json();
    let content = message["content"].as_array().expect("blocks");
    assert_eq!((&message["id"], &content[0]["text"]), (&json!("msg_own"), &json!("one two three")), "{message}");
    assert_eq!((&content[1]["id"], &content[1]["input"]), (&json!("toolu_own"), &json!({})));
    let fault = "{mode: truncated_response, max_tokens: 1}";
    let (running, ..) = faulted(fault, ProviderKind::OpenAi, &[(200, JSON, RESPONSE)]).await;
    let response = running.post("/v1/responses", json!({"model": "m", "input": "x"})).await.json();
    assert_eq!((&response["id"], &response["status"]), (&json!("resp_own"), &json!("incomplete")));
    assert_eq!(response["output"][0]["content"][0]["text"], "one");
}

#[tokio::test]
async fn streams_are_changed_and_cut_after_events_of_the_provider() {
    let told = [(200, EVENTS, STREAM)];
    let (running, ..) = faulted("{mode: truncated_response, max_tokens: 3}", ProviderKind::OpenAi, &told).await;
    let (stream, is_broken) = streamed(&running, "/v1/chat/completions", &streaming()).await;
    assert!(!is_broken && stream.contains("one two three") && stream.contains("length"), "{stream}");
    assert!(stream.ends_with("data: [DONE]\n\n") && !stream.contains("four"), "{stream}");
    let call = running.only_call();
    assert_eq!((call.stream, call.tokens.output, call.original.as_ref().map(text)), (true, 5, Some(STREAM.to_owned())));
    for mode in ["cut_stream, after_chunks: 2", "hang_stream, after_chunks: 2, delay_ms: 5"] {
        let (running, engine, _) = faulted(&format!("{{mode: {mode}}}"), ProviderKind::OpenAi, &told).await;
        let (stream, is_broken) = streamed(&running, "/v1/chat/completions", &streaming()).await;
        assert!(is_broken && STREAM.starts_with(&stream), "{mode}: {stream}");
        assert_eq!((stream.matches("\r\n\r\n").count(), engine.record().total()), (2, 1), "{mode}");
        let call = running.only_call();
        assert_eq!((call.tokens.output, call.tokens.estimated, call.problem), (5, false, None), "{mode}");
    }
}

#[tokio::test]
async fn what_cannot_be_changed_passes_as_it_is_and_is_no_fault() {
    let choices = r#"{"id":"r","choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#;
    let image = r#"{"id":"r","choices":[{"message":{"content":[{"type":"image","data":"x"}]}}]}"#;
    let told = [
        (400, JSON, r#"{"error":{"message":"no"}}"#),
        (200, JSON, "no JSON"),
        (200, JSON, r#"{"odd":true}"#),
        (200, JSON, choices),
        (200, JSON, image),
        (200, EVENTS, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"cut\"}}]}\n\n"),
    ];
    let (running, engine, _) = faulted("{mode: empty}", ProviderKind::OpenAi, &told).await;
    for (status, _, body) in told {
        let answer = running.chat("x").await;
        assert_eq!((answer.status, answer.text.as_str()), (status, body));
    }
    let record = engine.record();
    assert_eq!((record.rules[0].matched, record.total()), (6, 0));
    assert!(running.record().calls.iter().all(|call| call.fault.is_none() && call.original.is_none()));
}

#[tokio::test]
async fn a_recording_keeps_the_real_answer_and_a_replay_is_faulted_too() {
    let (_, recording, _) = chat_with("{mode: garbage}", CHAT).await;
    let evidence = Evidence { model: Some(recording.record()), ..Evidence::default() };
    let cassette = Cassette::from_evidence("default-r0", &evidence).expect("a cassette");
    assert_eq!(cassette.scenario("default-r0").expect("a scenario")[0].response, CHAT);
    let replaying = settings("mode: replay, recording: r.json", None, Some(&cassette));
    let engine = engine("{mode: truncated_response, max_tokens: 2, times: 1}", &replaying);
    let running = Running::new(ModelSettings { faults: Some(Arc::clone(&engine)), ..replaying });
    assert_eq!(running.chat("x").await.json()["choices"][0]["message"]["content"], "one two");
    assert_eq!(running.chat("x").await.text, CHAT, "the same request gets the same answer again, whole");
    let calls = running.record().calls;
    assert_eq!((calls[0].tokens.output, calls[0].original.clone(), engine.record().total()), (5, None, 1));
    assert_eq!(running.chat("x").await.status, 500, "it was recorded once");
}
