//! Anthropic's messages.

use serde_json::Value as Json;

use super::answer::tokens;
use super::assembly::{Assembly, Place};
use super::message::{ASSISTANT, Part, UNKNOWN, text_of};
use super::results::SentResult;
use crate::evidence::TokenCount;

/// Reads the messages of a request, after the system's; `None` when it has none.
pub(super) fn request(request: &Json, assembly: &mut Assembly) -> Option<()> {
    let messages = request["messages"].as_array()?;
    let system = text_of(&request["system"]);
    if !system.is_empty() {
        let number = assembly.next_message();
        assembly.begin_message(number, "system");
        assembly.put(place(number, 0), || Part::Text(system));
    }
    for message in messages {
        let number = assembly.next_message();
        assembly.begin_message(number, message["role"].as_str().unwrap_or(UNKNOWN));
        assembly.add_text(place(number, 0), &message["content"]);
        blocks(number, &message["content"], assembly);
    }
    Some(())
}

/// Reads a block that holds a result of a tool; `None` when it holds something else.
pub(super) fn result(block: &Json) -> Option<SentResult<'_>> {
    (block["type"] == "tool_result").then(|| SentResult {
        id: block["tool_use_id"].as_str().unwrap_or_default(),
        content: &block["content"],
        is_error: block["is_error"] == true,
    })
}

/// Reads a message in one piece.
pub(super) fn answer(answer: &Json, assembly: &mut Assembly) {
    begin(answer, assembly);
    assembly.add_finish_reason(&answer["stop_reason"]);
    if answer["content"].is_array() {
        assembly.begin_message(0, ASSISTANT);
        blocks(0, &answer["content"], assembly);
    }
}

fn begin(message: &Json, assembly: &mut Assembly) {
    assembly.take_id_and_model(message);
    let usage = &message["usage"];
    assembly.answer.usage = usage.is_object().then(|| {
        let cache_read = tokens(usage, "cache_read_input_tokens");
        // What came from the cache, or went into it, is not in `input_tokens`.
        let input = tokens(usage, "input_tokens") + cache_read + tokens(usage, "cache_creation_input_tokens");
        TokenCount { input, output: tokens(usage, "output_tokens"), cache_read, estimated: false }
    });
}

fn blocks(number: u64, content: &Json, assembly: &mut Assembly) {
    for (index, block) in (0..).zip(content.as_array().into_iter().flatten()) {
        assembly.count(&block["text"]);
        whole_block(place(number, index), block, assembly);
    }
}

fn whole_block(place: Place, block: &Json, assembly: &mut Assembly) {
    match block["type"].as_str() {
        Some("text") => assembly.add_text(place, &block["text"]),
        Some("thinking") => thinking(place, block, assembly),
        Some("tool_use") => assembly.add_call(place, &block["id"], &block["name"], &block["input"].to_string()),
        _ => assembly.put(place, || match result(block) {
            Some(result) => Part::Result(result.to_reported()),
            None => Part::Other(block.to_string()),
        }),
    }
}

/// A thought may be empty: providers hide some, and leave a signature.
fn thinking(place: Place, block: &Json, assembly: &mut Assembly) {
    if let Some(thought) = block["thinking"].as_str() {
        assembly.put(place, || Part::Thought(thought.to_owned()));
    }
}

/// Reads one event of a stream.
pub(super) fn event(event: &Json, assembly: &mut Assembly) {
    let place = place(0, event["index"].as_u64().unwrap_or(0));
    match event["type"].as_str().unwrap_or_default() {
        "message_start" => {
            begin(&event["message"], assembly);
            assembly.begin_message(0, ASSISTANT);
        }
        "content_block_start" => {
            assembly.begin_message(0, ASSISTANT);
            begin_block(place, &event["content_block"], assembly);
        }
        "content_block_delta" => {
            assembly.begin_message(0, ASSISTANT);
            let delta = &event["delta"];
            assembly.count(&delta["text"]);
            assembly.add_text(place, &delta["text"]);
            assembly.add_thought(place, &delta["thinking"]);
            assembly.add_arguments(place, &delta["partial_json"]);
        }
        "message_delta" => {
            assembly.add_finish_reason(&event["delta"]["stop_reason"]);
            // The last number is the sum of all before.
            if let (Some(count), true) = (&mut assembly.answer.usage, event["usage"]["output_tokens"].is_u64()) {
                count.output = tokens(&event["usage"], "output_tokens");
            }
        }
        "message_stop" => assembly.answer.ended = true,
        _ => {}
    }
}

fn begin_block(place: Place, block: &Json, assembly: &mut Assembly) {
    match block["type"].as_str() {
        Some("text") => assembly.add_text(place, &block["text"]),
        Some("thinking") => thinking(place, block, assembly),
        Some("tool_use") => {
            assembly.add_call(place, &block["id"], &block["name"], "");
            assembly.set_given(place, &block["input"]);
        }
        _ => assembly.put_open(place, block),
    }
}

fn place(message: u64, part: u64) -> Place {
    Place { message, section: 0, part }
}
