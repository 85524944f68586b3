//! OpenAI's chat completions, and what embeddings have in common with them.

use serde_json::Value as Json;

use super::answer::tokens;
use super::assembly::{Assembly, Place};
use super::message::{ASSISTANT, Part, UNKNOWN};
use super::results::SentResult;
use crate::evidence::TokenCount;

/// The sections of a message, in the order in which they are read.
const THOUGHTS: [(u8, &str); 2] = [(0, "reasoning_content"), (1, "reasoning")];
const CONTENT: u8 = 2;
const REFUSAL: u8 = 3;
const CALLS: u8 = 4;

/// Reads the messages of a request; `None` when it has none.
pub(super) fn request(request: &Json, assembly: &mut Assembly) -> Option<()> {
    for message in request["messages"].as_array()? {
        let number = assembly.next_message();
        let role = message["role"].as_str().unwrap_or(UNKNOWN);
        assembly.begin_message(number, role);
        if matches!(role, "tool" | "function") {
            assembly.put(place(number, CONTENT, 0), || Part::Result(result(message).to_reported()));
        } else {
            texts(number, message, assembly);
            whole_calls(number, &message["tool_calls"], assembly);
        }
    }
    Some(())
}

/// Reads a message that holds a result of a tool.
pub(super) fn result(message: &Json) -> SentResult<'_> {
    let id = message["tool_call_id"].as_str().unwrap_or_default();
    SentResult { id, content: &message["content"], is_error: false }
}

/// Reads an answer that came in one piece.
pub(super) fn answer(answer: &Json, assembly: &mut Assembly) {
    assembly.take_id_and_model(answer);
    assembly.answer.usage = usage(&answer["usage"]);
    for choice in answer["choices"].as_array().into_iter().flatten() {
        let number = assembly.next_message();
        assembly.begin_message(number, ASSISTANT);
        assembly.add_finish_reason(&choice["finish_reason"]);
        texts(number, &choice["message"], assembly);
        whole_calls(number, &choice["message"]["tool_calls"], assembly);
    }
}

/// Reads one chunk of a stream.
pub(super) fn event(chunk: &Json, assembly: &mut Assembly) {
    assembly.take_id_and_model(chunk);
    assembly.answer.usage = usage(&chunk["usage"]).or(assembly.answer.usage);
    for choice in chunk["choices"].as_array().into_iter().flatten() {
        let number = choice["index"].as_u64().unwrap_or(0);
        assembly.begin_message(number, ASSISTANT);
        assembly.add_finish_reason(&choice["finish_reason"]);
        texts(number, &choice["delta"], assembly);
        for one in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            call(place(number, CALLS, one["index"].as_u64().unwrap_or(0)), one, assembly);
        }
    }
}

fn usage(usage: &Json) -> Option<TokenCount> {
    usage.is_object().then(|| TokenCount {
        input: tokens(usage, "prompt_tokens"),
        output: tokens(usage, "completion_tokens"),
        cache_read: tokens(&usage["prompt_tokens_details"], "cached_tokens"),
        estimated: false,
    })
}

/// Reads the parts of a message, or of a piece of one, other than calls.
fn texts(number: u64, message: &Json, assembly: &mut Assembly) {
    for (section, name) in THOUGHTS {
        assembly.add_thought(place(number, section, 0), &message[name]);
    }
    let content = &message["content"];
    assembly.count(content);
    assembly.add_text(place(number, CONTENT, 0), content);
    for (index, part) in (0..).zip(content.as_array().into_iter().flatten()) {
        content_part(place(number, CONTENT, index), part, assembly);
    }
    assembly.add_text(place(number, REFUSAL, 0), &message["refusal"]);
}

fn content_part(place: Place, part: &Json, assembly: &mut Assembly) {
    let known = matches!(part["type"].as_str(), Some("text" | "refusal"));
    match [&part["text"], &part["refusal"]].into_iter().find(|text| known && text.is_string()) {
        Some(text) => assembly.add_text(place, text),
        None => assembly.put(place, || Part::Other(part.to_string())),
    }
}

fn whole_calls(number: u64, calls: &Json, assembly: &mut Assembly) {
    for (index, one) in (0..).zip(calls.as_array().into_iter().flatten()) {
        call(place(number, CALLS, index), one, assembly);
    }
}

fn call(place: Place, call: &Json, assembly: &mut Assembly) {
    let function = &call["function"];
    let arguments = function["arguments"].as_str().unwrap_or_default();
    assembly.add_call(place, &call["id"], &function["name"], arguments);
}

fn place(message: u64, section: u8, part: u64) -> Place {
    Place { message, section, part }
}
