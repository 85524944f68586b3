//! OpenAI's responses.

use serde_json::Value as Json;

use super::answer::tokens;
use super::assembly::{Assembly, Place};
use super::message::{ASSISTANT, Part, text_of};
use super::results::SentResult;
use crate::evidence::TokenCount;

/// Reads the messages of a request, after the instructions; `None` when it has none.
pub(super) fn request(request: &Json, assembly: &mut Assembly) -> Option<()> {
    let input = &request["input"];
    if !input.is_string() && !input.is_array() {
        return None;
    }
    for (role, text) in [("system", &request["instructions"]), ("user", input)] {
        if text.is_string() && (role == "user" || text.as_str() != Some("")) {
            let number = assembly.next_message();
            assembly.begin_message(number, role);
            assembly.add_text(place(number, 0), text);
        }
    }
    items(input, assembly);
    Some(())
}

/// Reads an item that holds a result of a tool; `None` when it holds something else.
pub(super) fn result(item: &Json) -> Option<SentResult<'_>> {
    (item["type"] == "function_call_output").then(|| SentResult {
        id: item["call_id"].as_str().unwrap_or_default(),
        content: &item["output"],
        is_error: false,
    })
}

/// Reads a response in one piece.
pub(super) fn answer(answer: &Json, assembly: &mut Assembly) {
    ending(answer, assembly);
    items(&answer["output"], assembly);
}

/// Reads the parts of a response other than its output.
fn ending(answer: &Json, assembly: &mut Assembly) {
    assembly.take_id_and_model(answer);
    assembly.add_finish_reason(&answer["status"]);
    let usage = &answer["usage"];
    assembly.answer.usage = usage.is_object().then(|| TokenCount {
        input: tokens(usage, "input_tokens"),
        output: tokens(usage, "output_tokens"),
        cache_read: tokens(&usage["input_tokens_details"], "cached_tokens"),
        estimated: false,
    });
}

fn items(list: &Json, assembly: &mut Assembly) {
    list.as_array().into_iter().flatten().for_each(|one| item(one, assembly));
}

/// Reads an item, which is a message of its own.
fn item(item: &Json, assembly: &mut Assembly) {
    let number = assembly.next_message();
    let first = place(number, 0);
    for part in item["content"].as_array().into_iter().flatten() {
        assembly.count(&part["text"]);
    }
    match item["type"].as_str() {
        Some("function_call") => {
            let arguments = item["arguments"].as_str().unwrap_or_default();
            assembly.add_call(first, &item["call_id"], &item["name"], arguments);
        }
        Some("reasoning") => {
            assembly.begin_message(number, ASSISTANT);
            assembly.put(first, || thought(&item["summary"]));
        }
        Some("message") | None if item["role"].is_string() => {
            assembly.begin_message(number, item["role"].as_str().unwrap_or_default());
            assembly.add_text(first, &item["content"]);
            for (index, part) in (0..).zip(item["content"].as_array().into_iter().flatten()) {
                content_part(place(number, index), part, assembly);
            }
        }
        _ => {
            let result = result(item);
            assembly.begin_message(number, if result.is_some() { "tool" } else { ASSISTANT });
            assembly.put(first, || match result {
                Some(result) => Part::Result(result.to_reported()),
                None => Part::Other(item.to_string()),
            });
        }
    }
}

/// Returns a thought with its summary; a placeholder when it has none.
fn thought(summary: &Json) -> Part {
    let summary = text_of(summary);
    Part::Thought(if summary.is_empty() { "not told".to_owned() } else { summary })
}

fn content_part(place: Place, part: &Json, assembly: &mut Assembly) {
    let text = match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => &part["text"],
        Some("refusal") => &part["refusal"],
        _ => &Json::Null,
    };
    match text.is_string() {
        true => assembly.add_text(place, text),
        false => assembly.put(place, || Part::Other(part.to_string())),
    }
}

/// Reads one event of a stream.
pub(super) fn event(event: &Json, assembly: &mut Assembly) {
    match event["type"].as_str().unwrap_or_default() {
        "response.created" => assembly.take_id_and_model(&event["response"]),
        "response.output_text.delta" | "response.function_call_arguments.delta" => {
            assembly.answer.pieces_bytes += event["delta"].as_str().map_or(0, str::len) as u64;
        }
        "response.output_item.done" => item(&event["item"], assembly),
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = &event["response"];
            ending(response, assembly);
            assembly.answer.ended = true;
            // The last event usually repeats all items.
            if response["output"].as_array().is_some_and(|output| !output.is_empty()) {
                assembly.begin_again();
                items(&response["output"], assembly);
            }
        }
        _ => {}
    }
}

fn place(message: u64, part: u64) -> Place {
    Place { message, section: 0, part }
}
