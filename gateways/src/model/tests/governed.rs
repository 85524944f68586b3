//! Models whose calls tool contracts decide on.

use scenario::evidence::ContractMode;
use scenario::spec::sections::NarrowingFeedback;
use serde_json::{Value as Json, json};
use tool_contracts::options::ResponseGate;

use super::proxy::{FakeUpstream, answers, proxied};
use crate::contract_session::testing::{Opening, record, records};
use crate::model::ModelSettings;
use crate::model::testing::{Running, settings};

/// A model that proposes these calls, and then says `done`.
async fn scripted(
    calls: &str,
    opening: Opening,
) -> (Running, std::sync::Arc<crate::contract_session::ContractSession>) {
    let script = format!("mode: scripted, turns: [{{tool_calls: [{calls}]}}, {{content: done}}, {{content: done}}]");
    let session = opening.begin().await;
    let contracts = Some(std::sync::Arc::clone(&session));
    (Running::new(ModelSettings { contracts, ..settings(&script, None, None) }), session)
}

fn offering(stream: bool) -> Json {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x"}], "tools": [tool("look"), tool("pay")]})
}

const PAY: &str = "{name: pay, arguments: {amount: 5}}";
const BOTH: &str = "{name: look, arguments: {}}, {name: pay, arguments: {amount: 5}}";

#[tokio::test]
async fn a_refused_response_is_an_error_in_each_dialect_streamed_or_not() {
    for stream in [false, true] {
        for (path, kind, code) in [
            ("/v1/chat/completions", "/error/type", "/error/code"),
            ("/v1/responses", "/error/type", "/error/code"),
            ("/v1/messages", "/error/type", "/error/code"),
        ] {
            let (running, session) = scripted(PAY, Opening::default()).await;
            let mut body = offering(stream);
            body["input"] = body["messages"].clone();
            body["max_tokens"] = 100.into();
            let answer = running.post(path, body).await;
            let error = answer.json();
            assert_eq!((answer.status, answer.header("x-should-retry")), (403, Some("false")), "{path}: {error}");
            let found = (error.pointer(kind).and_then(Json::as_str), error.pointer(code).and_then(Json::as_str));
            assert_eq!(found, (Some("contract_violation"), Some("wrong_phase")), "{path}");
            assert_eq!(error["error"]["call"], "pay");
            let call = running.only_call();
            assert_eq!((call.status, call.tokens.output > 0), (403, true), "the model's work counts");
            assert!(running.gateway.call_trace().is_empty(), "the agent never saw the call");
            assert_eq!(records(&session, "decision")[0]["verdict"], "block");
        }
    }
}

#[tokio::test]
async fn a_response_whose_calls_are_fine_is_sent_as_it_came() {
    for stream in [false, true] {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
            let script = "mode: scripted, turns: [{content: looking, tool_calls: [{name: look, arguments: {}}]}]";
            let plain = Running::new(settings(script, None, None));
            let session = Opening::default().begin().await;
            let governed = Running::new(ModelSettings { contracts: Some(session), ..settings(script, None, None) });
            let mut body = offering(stream);
            body["input"] = body["messages"].clone();
            body["max_tokens"] = 100.into();
            let (expected, answer) = (plain.post(path, body.clone()).await, governed.post(path, body).await);
            assert_eq!((answer.status, answer.text), (200, expected.text), "{path}, streamed: {stream}");
            assert_eq!(answer.headers.get("content-type"), expected.headers.get("content-type"));
        }
    }
}

#[tokio::test]
async fn refused_calls_are_taken_out_of_a_response() {
    for stream in [false, true] {
        let (running, _) = scripted(BOTH, Opening { gate: ResponseGate::StripPartial, ..Opening::default() }).await;
        let answer = running.post("/v1/chat/completions", offering(stream)).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.contains("look") && !answer.text.contains("pay"), "{}", answer.text);
        assert!(answer.text.contains("tool_calls") && (!stream || answer.text.ends_with("data: [DONE]\n\n")));
        let trace = running.gateway.call_trace();
        assert_eq!(trace.0.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["look"]);
    }
    let (running, _) = scripted(PAY, Opening { gate: ResponseGate::StripPartial, ..Opening::default() }).await;
    assert_eq!(running.post("/v1/chat/completions", offering(false)).await.status, 403, "nothing is left");
}

#[tokio::test]
async fn a_response_without_any_other_call_becomes_a_text() {
    let (running, _) = scripted(PAY, Opening { gate: ResponseGate::StripBlocked, ..Opening::default() }).await;
    let answer = running.post("/v1/chat/completions", offering(false)).await.json();
    let choice = &answer["choices"][0];
    assert_eq!((&choice["finish_reason"], &choice["message"]["tool_calls"]), (&json!("stop"), &Json::Null));
    let text = choice["message"]["content"].as_str().expect("a text");
    assert!(text.starts_with("The call of `pay` was refused. wrong_phase: "), "{text}");
}

#[tokio::test]
async fn observing_changes_nothing_and_writes_everything_down() {
    for stream in [false, true] {
        let (running, session) = scripted(PAY, Opening { mode: ContractMode::Observe, ..Opening::default() }).await;
        let answer = running.post("/v1/chat/completions", offering(stream)).await;
        assert!(answer.status == 200 && answer.text.contains("pay"));
        let decision = records(&session, "decision").remove(0);
        assert_eq!((&decision["verdict"], &decision["applied"]), (&json!("block"), &json!(false)));
        assert_eq!(records(&session, "would_have_narrowed").len(), 1);
    }
}

fn upstream_answer(calls: &[(&str, Json)]) -> String {
    let calls: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| {
            json!({"id": format!("id-{name}"), "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
        })
        .collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    json!({"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage})
        .to_string()
}

#[tokio::test]
async fn the_model_is_asked_again_with_the_reasons() {
    let (first, second) = (upstream_answer(&[("pay", json!({"amount": 5}))]), upstream_answer(&[("look", json!({}))]));
    let upstream =
        FakeUpstream::start(answers(&[(200, "application/json", &first), (200, "application/json", &second)])).await;
    let session = Opening { max_retries: 1, ..Opening::default() }.begin().await;
    let contracts = Some(std::sync::Arc::clone(&session));
    let running = Running::new(ModelSettings { contracts, ..proxied("", upstream.upstream()) });
    let answer = running.post("/v1/chat/completions", offering(false)).await;
    assert_eq!(answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "look");
    let requests = upstream.requests().await;
    let again: Json = serde_json::from_slice(&requests[1].body).expect("JSON");
    assert_eq!(again["messages"][1]["tool_calls"][0]["id"], "id-pay");
    let told = &again["messages"][2];
    assert_eq!((&told["role"], &told["tool_call_id"]), (&json!("tool"), &json!("id-pay")));
    assert!(told["content"].as_str().is_some_and(|text| text.contains("wrong_phase")), "{told}");
    let offered: Vec<_> = requests
        .iter()
        .map(|request| {
            let body: Json = serde_json::from_slice(&request.body).expect("JSON");
            body["tools"].as_array().map_or(0, Vec::len)
        })
        .collect();
    assert_eq!(offered, [1, 1], "`pay` is hidden while it would be refused");
    let usage = running.gateway.usage();
    assert_eq!((usage.calls, usage.tokens(), usage.cost_usd), (2, 14, Some(14.0)), "both answers cost something");
    assert_eq!(records(&session, "cost").len(), 2);
    assert_eq!(record(&session).records.iter().filter(|record| record["code"] == "blocked_call_executed").count(), 0);
}

#[tokio::test]
async fn a_streamed_answer_of_an_upstream_is_held_back_and_sent_as_it_came() {
    let delta = json!({"role": "assistant", "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    let event = |delta: Json, finish: Json| {
        format!(
            "data: {}\n\n",
            json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        )
    };
    let stream = format!("{}{}data: [DONE]\n\n", event(delta, Json::Null), event(json!({}), json!("tool_calls")));
    let upstream = FakeUpstream::start(answers(&[(200, "text/event-stream", &stream)])).await;
    let session = Opening::default().begin().await;
    let contracts = Some(std::sync::Arc::clone(&session));
    let running = Running::new(ModelSettings { contracts, ..proxied("", upstream.upstream()) });
    let answer = running.post("/v1/chat/completions", offering(true)).await;
    assert_eq!((answer.status, answer.text), (200, stream));
    assert_eq!(running.gateway.call_trace().0.len(), 1);
}

#[tokio::test]
async fn hidden_tools_are_told_as_the_feedback_has_it() {
    for (feedback, header, told) in [
        (NarrowingFeedback::Silent, None, false),
        (NarrowingFeedback::Metadata, Some("pay;wrong_phase"), false),
        (NarrowingFeedback::Inject, None, true),
    ] {
        let said = upstream_answer(&[("look", json!({}))]);
        let upstream = FakeUpstream::start(answers(&[(200, "application/json", &said)])).await;
        let session = Opening { feedback, ..Opening::default() }.begin().await;
        let running = Running::new(ModelSettings { contracts: Some(session), ..proxied("", upstream.upstream()) });
        let answer = running.post("/v1/chat/completions", offering(false)).await;
        assert_eq!((answer.status, answer.header("x-contract-narrowed")), (200, header), "{feedback:?}");
        let sent: Json = serde_json::from_slice(&upstream.requests().await[0].body).expect("JSON");
        assert_eq!(sent["tools"].as_array().map(Vec::len), Some(1));
        assert_eq!(sent["messages"][1]["role"] == "system", told);
    }
}

#[tokio::test]
async fn requests_beyond_a_limit_of_the_session_are_refused_before_they_cost_anything() {
    let opening = Opening { limits: "session_limits: {max_steps: 1}\n", ..Opening::default() };
    let (running, _) = scripted("{name: look, arguments: {}}", opening).await;
    assert_eq!(running.post("/v1/chat/completions", offering(false)).await.status, 200);
    let refused = running.post("/v1/chat/completions", offering(false)).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (403, json!("session_limit_exceeded")));
    assert_eq!(running.gateway.usage().calls, 1);
}

#[tokio::test]
async fn several_choices_are_refused_where_calls_are_decided_on() {
    let (running, _) = scripted(PAY, Opening::default()).await;
    let mut body = offering(false);
    body["n"] = 2.into();
    let refused = running.post("/v1/chat/completions", body).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (400, json!("several_choices")));
}
