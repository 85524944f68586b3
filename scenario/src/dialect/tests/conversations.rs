//! Tests of recorded calls as conversations.

use serde_json::{Value as Json, json};

use crate::dialect::{Conversation, Message, Part};
use crate::evidence::{Blob, Body, Dialect, ModelCall};

fn call(dialect: Dialect, request: &Json, response: &str) -> ModelCall {
    let body = |text: &str| Body::Kept(Blob(text.as_bytes().to_vec()));
    ModelCall { dialect, request: body(&request.to_string()), response: body(response), ..ModelCall::default() }
}

/// `role: part, part` for each message.
fn told(messages: &[Message]) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Thought(thought) => format!("thought {thought}"),
        Part::Call(call) => format!("{}({})", call.name, call.arguments),
        Part::Result(result) => {
            format!("{} gave {}{}", result.tool_or_id(), result.content, if result.is_error { "!" } else { "" })
        }
        Part::Other(other) => format!("other {other}"),
    };
    let message = |message: &Message| {
        format!("{}: {}", message.role, message.parts.iter().map(part).collect::<Vec<_>>().join(", "))
    };
    messages.iter().map(message).collect()
}

#[track_caller]
fn check(dialect: Dialect, request: Json, sent: &[&str], answers: [&str; 2], answered: &[&str]) {
    for answer in answers {
        let read = Conversation::read_call(&call(dialect, &request, answer)).expect("a conversation");
        assert_eq!(told(&read.sent), sent);
        assert_eq!(told(read.answered()), answered, "{answer}");
    }
}

#[test]
fn chat_completions_are_read_whole_and_streamed() {
    let request = json!({"messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "seen"},
    ]});
    let sent =
        ["system: be kind", "user: hi, other {\"type\":\"image_url\"}", "assistant: look({})", "tool: look gave seen"];
    let whole = json!({"choices": [{"message": {"content": "done", "tool_calls": [
        {"id": "2", "function": {"name": "save", "arguments": "{\"a\":1}"}}]}}]});
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"do\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ne\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"2\",\"function\":{\"name\":\"save\",\"arguments\":\"\"}}]}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":1}\"}}]}}]}\n\n\
        data: [DONE]\n\n";
    check(Dialect::Chat, request, &sent, [&whole.to_string(), stream], &["assistant: done, save({\"a\":1})"]);
}

#[test]
fn anthropics_messages_are_read_whole_and_streamed() {
    let request = json!({"system": [{"type": "text", "text": "be kind"}], "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {"x": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "no"}], "is_error": true}]},
    ]});
    let sent = ["system: be kind", "user: hi", "assistant: look({\"x\":1})", "user: look gave no!"];
    let whole = json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "done"},
        {"type": "tool_use", "id": "2", "name": "save", "input": {"a": 1}}]});
    let events = [
        json!({"type": "message_start", "message": {"content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "do"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ne"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "2", "name": "save", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":"}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        json!({"type": "message_stop"}),
    ];
    let stream: String = events.iter().map(|event| format!("event: x\r\ndata: {event}\r\n\r\n")).collect();
    let answered = ["assistant: thought hm, done, save({\"a\":1})"];
    check(Dialect::Messages, request, &sent, [&whole.to_string(), &stream], &answered);
}

#[test]
fn responses_are_read_whole_and_streamed() {
    let request = json!({"instructions": "be kind", "input": [
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "seen"},
    ]});
    let sent = ["system: be kind", "user: hi", "assistant: hello", "assistant: look({})", "tool: look gave seen"];
    let output = json!([{"type": "reasoning", "summary": [{"text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]);
    let whole = json!({"output": output});
    let stream = format!("data: {}\n\n", json!({"type": "response.completed", "response": {"output": output}}));
    let answered = ["assistant: thought hm", "assistant: done"];
    check(Dialect::Responses, request, &sent, [&whole.to_string(), &stream], &answered);
    let cut = format!("data: {}\n\ndata: {{\"ty", json!({"type": "response.output_item.done", "item": output[1]}));
    check(Dialect::Responses, json!({"input": "hi"}), &["user: hi"], [&cut, &cut], &["assistant: done"]);
}

#[test]
fn what_is_not_understood_is_not_read() {
    for (dialect, request) in [
        (Dialect::Chat, json!({"messages": 1})),
        (Dialect::Chat, json!([1])),
        (Dialect::Messages, json!({})),
        (Dialect::Responses, json!({"input": 7})),
        (Dialect::Embeddings, json!({"input": "x"})),
        (Dialect::Other, json!({"messages": []})),
    ] {
        assert_eq!(Conversation::read_call(&call(dialect, &request, "{}")), None, "{request}");
    }
    for answer in ["", "<html>", "{}", "data: nonsense\n\n", "[1]", "{\"choices\": 1}", "{\"error\": {}}"] {
        let read =
            Conversation::read_call(&call(Dialect::Chat, &json!({"messages": [{}]}), answer)).expect("a conversation");
        assert_eq!((read.answer, told(&read.sent)), (None, vec!["unknown: ".to_owned()]), "{answer}");
    }
    let odd = json!({"messages": [{"role": "assistant", "content": [7], "tool_calls": [1, {}]}, {"role": "tool"}, 8]});
    let read = Conversation::read_call(&call(Dialect::Chat, &odd, "{}")).expect("a conversation");
    assert_eq!(told(&read.sent), ["assistant: other 7, (), ()", "tool:  gave ", "unknown: "]);
}

#[test]
fn what_an_earlier_call_said_and_was_answered_is_known() {
    let said = |messages: Json| {
        Conversation::read_call(&call(Dialect::Chat, &json!({ "messages": messages }), "{}")).expect("a conversation")
    };
    let first = said(json!([{"role": "user", "content": "a"}]));
    let second = said(
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]),
    );
    assert_eq!((second.said_before(&first), first.said_before(&second)), (Some(2), None));
    assert_eq!(first.said_before(&first), Some(1), "the same was asked again");
    assert_eq!(second.said_before(&said(json!([]))), None);
}

#[test]
fn the_model_the_usage_and_the_end_of_an_answer_are_read() {
    let request = json!({"model": "asked", "messages": [], "tools": [{"type": "function", "function": {"name": "look"}}, {"type": "search"}]});
    let answer = json!({"id": "a", "model": "given", "choices": [{"finish_reason": "stop", "message": {"content": "x"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}});
    let read = Conversation::read_call(&call(Dialect::Chat, &request, &answer.to_string())).expect("a conversation");
    assert_eq!((read.model.as_str(), read.tools), ("asked", vec!["look".to_owned(), "search".to_owned()]));
    let answer = read.answer.expect("an answer");
    assert_eq!((answer.model.as_deref(), answer.finish_reasons.as_slice()), (Some("given"), &["stop".to_owned()][..]));
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((3, 2)));
}

#[test]
fn a_last_event_without_its_empty_line_is_read() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}";
    check(Dialect::Chat, json!({"messages": []}), &[], [stream, stream], &["assistant: x"]);
}

#[test]
fn unknown_blocks_of_a_stream_keep_their_input() {
    let events = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use", "name": "search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{\"q\":"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"partial_json": "1}"}}),
    ];
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let block = json!({"type": "server_tool_use", "name": "search", "input": {"q": 1}});
    let whole = json!({ "content": [block] }).to_string();
    let told = format!("assistant: other {block}");
    check(Dialect::Messages, json!({"messages": []}), &[], [&whole, &stream], &[&told]);
}
