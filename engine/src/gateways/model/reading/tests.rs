//! Tests of answers that providers give.

use scenario::evidence::{Dialect, TokenCount};
use serde_json::json;

use super::{Reading, StreamReader};

fn streamed(dialect: Dialect, text: &str) -> Reading {
    let mut reader = StreamReader::new(dialect);
    reader.push(text.as_bytes());
    reader.finish()
}

#[test]
fn tokens_from_a_cache_are_counted_apart() {
    let count = |dialect, usage: serde_json::Value| {
        Reading::of_json(dialect, json!({"usage": usage}).to_string().as_bytes()).expect("a reading").usage
    };
    let expected = Some(TokenCount { input: 100, output: 7, cache_read: 60, estimated: false });
    let chat = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}});
    assert_eq!(count(Dialect::Chat, chat), expected);
    let responses = json!({"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}});
    assert_eq!(count(Dialect::Responses, responses), expected);
    let messages = json!({"input_tokens": 30, "output_tokens": 7, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10});
    assert_eq!(count(Dialect::Messages, messages), expected);
    assert_eq!(count(Dialect::Chat, json!(null)), None);
}

#[test]
fn what_is_no_object_is_not_read() {
    for bytes in [&b"<html>"[..], b"[]", b"", b"\xff", &b"[".repeat(100_000)] {
        assert_eq!(Reading::of_json(Dialect::Chat, bytes), None);
    }
    for odd in ["{}", r#"{"choices": 1, "usage": 2}"#, r#"{"choices": [{"message": {"tool_calls": [1, {}]}}]}"#] {
        assert!(Reading::of_json(Dialect::Chat, odd.as_bytes()).is_some());
    }
}

#[test]
fn a_stream_that_was_cut_has_no_end_and_keeps_what_came() {
    let reading = streamed(
        Dialect::Chat,
        "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\"}}]}}]}\n\ndata: {\"id",
    );
    assert!(!reading.ended && reading.usage.is_none());
    assert_eq!((reading.id.as_deref(), reading.tools[0].arguments.as_str()), (Some("a"), "{\"x"));
}

#[test]
fn an_error_inside_a_stream_is_read() {
    let text = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"too much\"}}\n\n";
    assert_eq!(streamed(Dialect::Messages, text).error.as_deref(), Some("too much"));
}

#[test]
fn garbage_is_not_read_and_does_not_grow() {
    let mut reader = StreamReader::new(Dialect::Chat);
    for _ in 0..64 {
        reader.push(&[b'x'; 128 * 1024]);
    }
    reader.push(b"\n\ndata: [DONE]\n\n");
    assert!(!reader.has_ended(), "it was given up");
    assert_eq!(streamed(Dialect::Chat, "data: nonsense\n\ndata: [1]\n\ndata: \"x\"\n\n"), Reading::default());
    let mut invalid = StreamReader::new(Dialect::Chat);
    invalid.push(b"data: \xff\xfe\n\n");
    assert!(!invalid.has_ended());
}

#[test]
fn a_thousand_tools_and_long_arguments_are_bounded() {
    let call =
        |length: usize| json!({"id": "t", "function": {"name": "f".repeat(length), "arguments": "a".repeat(length)}});
    let calls: Vec<_> = std::iter::once(call(100_000)).chain(std::iter::repeat_with(|| call(1)).take(1200)).collect();
    let answer = json!({"choices": [{"message": {"tool_calls": calls}}]});
    let reading = Reading::of_json(Dialect::Chat, answer.to_string().as_bytes()).expect("a reading");
    assert_eq!(reading.tools.len(), 1000);
    assert_eq!((reading.tools[0].name.len(), reading.tools[0].arguments.len()), (1024, 64 * 1024));
}
