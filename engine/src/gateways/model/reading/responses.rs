//! OpenAI's responses.

use scenario::evidence::TokenCount;
use serde_json::Value as Json;

use super::answer::{Reading, tokens};

/// Reads a response in one piece.
pub(super) fn whole(answer: &Json, reading: &mut Reading) {
    ending(answer, reading);
    answer["output"].as_array().into_iter().flatten().for_each(|output| item(output, reading));
}

/// Reads what a response has besides its output.
fn ending(answer: &Json, reading: &mut Reading) {
    reading.take_id_and_model(answer);
    reading.add_finish_reason(&answer["status"]);
    let usage = &answer["usage"];
    reading.usage = usage.is_object().then(|| TokenCount {
        input: tokens(usage, "input_tokens"),
        output: tokens(usage, "output_tokens"),
        cache_read: tokens(&usage["input_tokens_details"], "cached_tokens"),
        estimated: false,
    });
}

fn item(item: &Json, reading: &mut Reading) {
    if item["type"] == "function_call" {
        let arguments = item["arguments"].as_str().unwrap_or_default();
        reading.add_whole_tool(&item["call_id"], &item["name"], arguments);
    }
    for part in item["content"].as_array().into_iter().flatten() {
        reading.add_text(&part["text"]);
    }
}

/// Reads one event of a stream.
pub(super) fn event(event: &Json, reading: &mut Reading) {
    match event["type"].as_str().unwrap_or_default() {
        "response.created" => reading.take_id_and_model(&event["response"]),
        "response.output_text.delta" | "response.function_call_arguments.delta" => {
            reading.pieces_bytes += event["delta"].as_str().map_or(0, str::len) as u64;
        }
        "response.output_item.done" => item(&event["item"], reading),
        "response.completed" | "response.incomplete" | "response.failed" => {
            ending(&event["response"], reading);
            reading.ended = true;
        }
        _ => {}
    }
}
