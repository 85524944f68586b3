//! Tests of answers that providers give.

use serde_json::json;

use crate::dialect::{Answer, ProposedCall, ReadLimits, StreamReader};
use crate::evidence::{Dialect, TokenCount};

/// Limits as a gateway has them, which keeps calls and no texts.
const CALLS: ReadLimits = ReadLimits {
    name_bytes: 1024,
    arguments_bytes: 64 * 1024,
    calls: 1000,
    text_bytes: 0,
    event_bytes: 4 * 1024 * 1024,
};

fn whole(dialect: Dialect, bytes: &[u8]) -> Option<Answer> {
    Answer::read_whole(dialect, bytes, CALLS)
}

fn streamed(dialect: Dialect, text: &str) -> Answer {
    Answer::read_stream(dialect, text.as_bytes(), CALLS)
}

fn calls(answer: &Answer) -> Vec<&ProposedCall> {
    answer.calls().collect()
}

#[test]
fn tokens_from_a_cache_are_counted_apart() {
    let count = |dialect, usage: serde_json::Value| {
        whole(dialect, json!({"usage": usage}).to_string().as_bytes()).expect("an answer").usage
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
        assert_eq!(whole(Dialect::Chat, bytes), None);
    }
    for odd in ["{}", r#"{"choices": 1, "usage": 2}"#, r#"{"choices": [{"message": {"tool_calls": [1, {}]}}]}"#] {
        assert!(whole(Dialect::Chat, odd.as_bytes()).is_some());
    }
}

#[test]
fn a_stream_that_was_cut_has_no_end_and_keeps_what_came() {
    let answer = streamed(
        Dialect::Chat,
        "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\"}}]}}]}\n\ndata: {\"id",
    );
    assert!(!answer.ended && answer.usage.is_none());
    assert_eq!((answer.id.as_deref(), calls(&answer)[0].arguments.as_str()), (Some("a"), "{\"x"));
}

#[test]
fn an_error_inside_a_stream_is_read() {
    let text = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"too much\"}}\n\n";
    assert_eq!(streamed(Dialect::Messages, text).error.as_deref(), Some("too much"));
}

#[test]
fn garbage_is_not_read_and_does_not_grow() {
    let mut reader = StreamReader::new(Dialect::Chat, CALLS);
    for _ in 0..64 {
        reader.push(&[b'x'; 128 * 1024]);
    }
    reader.push(b"\n\ndata: [DONE]\n\n");
    assert!(!reader.has_ended(), "it was given up");
    assert_eq!(streamed(Dialect::Chat, "data: nonsense\n\ndata: [1]\n\ndata: \"x\"\n\n"), Answer::default());
    let mut invalid = StreamReader::new(Dialect::Chat, CALLS);
    invalid.push(b"data: \xff\xfe\n\n");
    assert!(!invalid.has_ended());
}

#[test]
fn a_thousand_tools_and_long_arguments_are_bounded() {
    let call =
        |length: usize| json!({"id": "t", "function": {"name": "f".repeat(length), "arguments": "a".repeat(length)}});
    let many: Vec<_> = std::iter::once(call(100_000)).chain(std::iter::repeat_with(|| call(1)).take(1200)).collect();
    let answer = json!({"choices": [{"message": {"tool_calls": many}}]});
    let answer = whole(Dialect::Chat, answer.to_string().as_bytes()).expect("an answer");
    assert_eq!(calls(&answer).len(), 1000);
    assert_eq!((calls(&answer)[0].name.len(), calls(&answer)[0].arguments.len()), (1024, 64 * 1024));
}

#[test]
fn without_room_for_text_only_calls_are_kept_and_all_is_counted() {
    let answer = json!({"choices": [{"message": {"content": "four", "reasoning": "x", "refusal": "y"}}, {"message": {
        "content": [{"type": "image"}], "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}}]});
    let read = whole(Dialect::Chat, answer.to_string().as_bytes()).expect("an answer");
    assert_eq!((read.messages.len(), read.messages[0].parts.len(), read.bytes()), (1, 1, 7));
    let items: Vec<_> = (0..2000)
        .map(|_| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}))
        .collect();
    let items =
        [items, vec![json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"})]].concat();
    let read = whole(Dialect::Responses, json!({ "output": items }).to_string().as_bytes()).expect("an answer");
    assert_eq!((read.messages.len(), calls(&read).len(), read.bytes()), (1, 1, 2003));
}

#[test]
fn texts_end_where_the_room_ends() {
    let limits = ReadLimits { text_bytes: 5, ..CALLS };
    let chunk = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
    let read = Answer::read_stream(Dialect::Chat, [chunk("abc"), chunk("déf")].concat().as_bytes(), limits);
    assert_eq!(read.messages[0].parts, [crate::dialect::Part::Text("abcd".to_owned())]);
    assert_eq!(read.bytes(), 7);
}

#[test]
fn names_come_in_pieces_or_again_and_again() {
    let chunk = |id: &str, name: &str, arguments: &str| {
        let call = json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let expected = ProposedCall { id: "1".to_owned(), name: "read_file".to_owned(), arguments: "{}".to_owned() };
    for pieces in [["read_", "file"], ["read_file", "read_file"], ["", "read_file"]] {
        let stream = [chunk("", pieces[0], "{"), chunk("1", pieces[1], "}")].concat();
        assert_eq!(calls(&streamed(Dialect::Chat, &stream)), [&expected], "{pieces:?}");
    }
}

#[test]
fn a_call_without_arguments_is_the_same_whole_and_streamed() {
    let block = json!({"type": "tool_use", "id": "1", "name": "list", "input": {}});
    let events = [
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}}),
    ];
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let answer = whole(Dialect::Messages, json!({ "content": [block] }).to_string().as_bytes()).expect("an answer");
    assert_eq!(calls(&answer), calls(&streamed(Dialect::Messages, &stream)));
}

#[test]
fn the_end_of_a_response_repeats_its_items_and_they_are_read_once() {
    let item = json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{\"a\":1}"});
    let done = format!("data: {}\n\n", json!({"type": "response.output_item.done", "item": item}));
    let end = |output| {
        let response = json!({"id": "r", "status": "completed", "output": output});
        format!("data: {}\n\n", json!({"type": "response.completed", "response": response}))
    };
    for stream in [[done.clone(), end(json!([item]))].concat(), [done, end(json!([]))].concat(), end(json!([item]))] {
        let read = streamed(Dialect::Responses, &stream);
        assert_eq!((calls(&read).len(), read.bytes(), read.ended), (1, 8, true), "{stream}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages, Dialect::Other] {
            let _ = (whole(dialect, &bytes), Answer::read_stream(dialect, &bytes, CALLS));
        }
    }
}
