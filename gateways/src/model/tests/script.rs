//! Scripted models.

use serde_json::{Value as Json, json};

use crate::Gateway as _;
use crate::model::testing::{Running, SECRET, TOKEN, chat, text};

fn content(answer: &Json) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn turns_answer_in_their_order_and_then_the_script_is_exhausted() {
    let running =
        Running::scripted("turns: [{content: a, prompt_tokens: 3, completion_tokens: 4}, {content: b}, {content: c}]");
    for expected in ["a", "b"] {
        assert_eq!(content(&running.chat("x").await.json()), expected);
    }
    assert_eq!(running.record().unused_turns, [2]);
    running.chat("x").await;
    let refused = running.chat("x").await;
    assert_eq!((refused.status, refused.header("x-should-retry")), (500, Some("false")));
    assert_eq!(refused.json()["error"]["code"], "script_exhausted");
    let record = running.record();
    assert!(record.exhausted && record.unused_turns.is_empty());
    let turns: Vec<_> = record.calls.iter().map(|call| call.turn).collect();
    assert_eq!(turns, [Some(0), Some(1), Some(2), None]);
    let first = record.calls[0].tokens;
    assert_eq!((first.input, first.output, first.estimated), (3, 4, false));
    assert!(record.calls[1].tokens.estimated && record.calls[1].tokens.input > 0);
    let usage = running.gateway.usage();
    assert_eq!((usage.calls, usage.model.as_str()), (3, "m"));
    assert_eq!(usage.cost_usd, Some(usage.tokens() as f64), "a dollar for each token");
}

#[tokio::test]
async fn the_last_turn_may_be_repeated_with_other_ids() {
    let running = Running::scripted("on_exhausted: repeat_last, turns: [{tool_calls: [{name: f}]}]");
    let mut ids = Vec::new();
    for _ in 0..3 {
        let answer = running.chat("x").await.json();
        ids.push(answer["choices"][0]["message"]["tool_calls"][0]["id"].as_str().expect("an id").to_owned());
    }
    assert_eq!(ids, ["call_0_0", "call_0_0_r1", "call_0_0_r2"]);
    assert!(!running.record().exhausted);
}

#[tokio::test]
async fn rules_answer_first_and_use_up_no_turn() {
    let running =
        Running::scripted("turns: [{content: turn}], match: [{contains: 'say \"hi\"', turn: {content: rule}}]");
    assert_eq!(content(&running.chat("please say \"hi\" now").await.json()), "rule");
    assert_eq!(content(&running.chat("x").await.json()), "turn");
    assert_eq!(content(&running.chat("say \"hi\"").await.json()), "rule");
    let turns: Vec<_> = running.record().calls.iter().map(|call| call.turn).collect();
    assert_eq!(turns, [None, Some(0), None]);
}

#[tokio::test]
async fn the_transcript_may_say_which_turn_is_next() {
    let running = Running::scripted("advance: transcript, turns: [{content: a}, {content: b}]");
    for (results, expected) in [(0, "a"), (0, "a"), (1, "b"), (0, "a")] {
        let mut messages = vec![json!({"role": "developer", "content": [{"type": "text", "text": "x"}]})];
        messages.extend((0..results).map(|id| json!({"role": "tool", "tool_call_id": id.to_string(), "content": "y"})));
        let answer =
            running.post("/chat/completions", json!({"model": "m", "messages": messages, "odd": {"a": 1}})).await;
        assert_eq!(content(&answer.json()), expected);
    }
    let many = json!({"model": "m", "messages": vec![json!({"role": "tool"}); 2]});
    assert_eq!(running.post("/chat/completions", many).await.status, 500);
}

#[tokio::test]
async fn templates_and_variants_are_chosen_before() {
    let running = Running::scripted(
        "turns: [{content: 'replica {{ replica }} {{ secrets.KEY }}'}, {variants: [{content: v0}, {content: v1}]}]",
    );
    assert_eq!(content(&running.chat("x").await.json()), format!("replica 0 {SECRET}"));
    assert_eq!(content(&running.chat("x").await.json()), "v0");
    let record = running.record();
    assert_eq!(record.variants, [None, Some(0)]);
    assert!(text(&record.calls[0].response).contains("replica 0 [redacted:KEY:k1]"));
}

#[tokio::test]
async fn tools_find_their_results_once() {
    let running = Running::scripted(
        "turns: [{tool_calls: [{name: read, arguments: {path: a}}, {name: list}]}, {content: done}, {content: more}]",
    );
    running.chat("x").await;
    let mut conversation = chat("x");
    let messages = conversation["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "tool", "tool_call_id": "call_0_0", "content": format!("found {SECRET}")}));
    messages.push(json!({"role": "tool", "tool_call_id": "unknown", "content": "z"}));
    running.post("/chat/completions", conversation.clone()).await;
    conversation["messages"][1]["content"] = "another".into();
    running.post("/chat/completions", conversation).await;
    let trace = running.gateway.call_trace();
    let uses = trace.sightings();
    let proposal = uses[0].seen;
    assert_eq!((uses.len(), trace.0.len()), (2, 3));
    assert_eq!(
        (proposal.tool.as_str(), &proposal.arguments, proposal.model_call),
        ("read", &json!({"path": "a"}), Some(0))
    );
    let report = uses[0].report.expect("a report");
    assert_eq!((report.seq, report.id.as_deref(), report.model_call), (2, Some("call_0_0"), Some(1)));
    assert_eq!((uses[0].result(), uses[1].report), (Some("found [redacted:KEY:k1]"), None));
}

#[tokio::test]
async fn anthropic_tools_may_fail() {
    let running = Running::scripted("turns: [{tool_calls: [{name: read}]}, {content: done}]");
    let ask = |messages: Json| json!({"model": "m", "max_tokens": 9, "stream": true, "messages": messages});
    let streamed = running.post("/v1/messages", ask(json!([{"role": "user", "content": "x"}]))).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_0_0", "content": "no", "is_error": true}]);
    running.post("/v1/messages", ask(json!([{"role": "user", "content": result}]))).await;
    let record = running.record();
    let trace = running.gateway.call_trace();
    assert_eq!((trace.sightings().len(), trace.sightings()[0].is_error()), (1, true));
    assert_eq!(record.calls[0].finish_reasons, ["tool_use"]);
    assert!(record.calls[0].stream && text(&record.calls[0].response) == streamed.text);
}

#[tokio::test]
async fn every_request_needs_the_token() {
    let running = Running::scripted("turns: [{content: a}]");
    let check = async |path: &str, header: &str, value: &str, status: u16, kind: Option<&str>| {
        let request = running.client.post(format!("{}{path}", running.url)).header(header, value);
        let answer =
            crate::model::testing::Answer::of(request.body(chat("x").to_string()).send().await.expect("an answer"))
                .await;
        assert_eq!(answer.status, status, "{path} {header}: {}", answer.text);
        let json = answer.json();
        assert_eq!(kind, json["error"]["type"].as_str());
        json
    };
    let failed = Some("authentication_error");
    check("/v1/chat/completions", "authorization", "Bearer no", 401, failed).await;
    let anthropic = check("/v1/messages", "x-other", "1", 401, failed).await;
    assert_eq!(anthropic["type"], "error");
    check("/v1/chat/completions", "x-api-key", TOKEN, 200, None).await;
    let record = running.record();
    assert_eq!((record.calls.len(), record.calls[0].status, running.gateway.usage().calls), (3, 401, 1));
    assert!(record.calls[0].problem.is_some());
}

#[tokio::test]
async fn models_and_unknown_paths_have_the_shape_of_who_asks() {
    let running = Running::scripted("turns: [{content: a}]");
    assert_eq!(running.get("/v1/models").await.json()["data"][0]["id"], "scripted");
    assert_eq!(running.get("/models/any").await.json()["id"], "any");
    let unknown = running.get("/v1/files").await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!("unknown_path")));
    let unknown = running.post("/v1/messages/batches", json!({})).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["type"]), (404, &json!("not_found_error")));
    assert_eq!(running.get("/v1/chat/completions").await.status, 405);
    assert_eq!(running.gateway.usage().calls, 0);
}

#[tokio::test]
async fn embeddings_use_up_no_turn() {
    let running = Running::scripted("turns: [{content: a}]");
    let answer = running.post("/v1/embeddings", json!({"model": "m", "input": ["a", "b"], "dimensions": 4})).await;
    assert_eq!(answer.json()["data"][1]["embedding"].as_array().map(Vec::len), Some(4));
    assert_eq!((running.record().unused_turns.len(), running.gateway.usage().calls), (1, 1));
}

#[tokio::test]
async fn after_the_seal_requests_are_refused_and_not_recorded() {
    let running = Running::scripted("turns: [{content: a}, {content: b}]");
    running.chat("x").await;
    running.gateway.seal().await;
    let refused = running.chat("x").await;
    assert_eq!((refused.status, running.record().calls.len()), (503, 1));
}

#[tokio::test]
async fn a_client_that_leaves_during_a_delay_is_written_down() {
    let running = Running::scripted("turns: [{content: a, delay: 1h}]");
    let request = running.request("/v1/chat/completions", chat("x").to_string()).send();
    tokio::select! {
        _ = request => panic!("answered"),
        record = running.recorded(|record| record.calls.len() == 1) => assert_eq!(record.calls[0].status, 0, "{record:?}"),
    }
    let record = running.recorded(|record| record.calls[0].problem.is_some()).await;
    assert_eq!((record.calls[0].status, record.calls[0].turn), (499, Some(0)));
    assert_eq!(running.gateway.usage().calls, 0);
}
