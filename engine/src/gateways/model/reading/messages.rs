//! Anthropic's messages.

use scenario::evidence::TokenCount;
use serde_json::Value as Json;

use super::answer::{Reading, tokens};
use super::chat::Places;

/// Reads a message in one piece.
pub(super) fn whole(answer: &Json, reading: &mut Reading) {
    begin(answer, reading);
    reading.add_finish_reason(&answer["stop_reason"]);
    for block in answer["content"].as_array().into_iter().flatten() {
        reading.add_text(&block["text"]);
        if block["type"] == "tool_use" {
            reading.add_whole_tool(&block["id"], &block["name"], &block["input"].to_string());
        }
    }
}

fn begin(message: &Json, reading: &mut Reading) {
    reading.take_id_and_model(message);
    let usage = &message["usage"];
    reading.usage = usage.is_object().then(|| {
        let cache_read = tokens(usage, "cache_read_input_tokens");
        // What came from the cache, or went into it, is not in `input_tokens`.
        let input = tokens(usage, "input_tokens") + cache_read + tokens(usage, "cache_creation_input_tokens");
        TokenCount { input, output: tokens(usage, "output_tokens"), cache_read, estimated: false }
    });
}

/// Reads one event of a stream.
pub(super) fn event(event: &Json, reading: &mut Reading, places: &mut Places) {
    let place = (0, event["index"].as_u64().unwrap_or(0));
    match event["type"].as_str().unwrap_or_default() {
        "message_start" => begin(&event["message"], reading),
        "content_block_start" if event["content_block"]["type"] == "tool_use" => {
            let block = &event["content_block"];
            let index = reading.tools.len();
            if reading.add_tool(&block["id"], &block["name"]).is_some() {
                places.insert(place, index);
            }
        }
        "content_block_delta" => {
            let delta = &event["delta"];
            reading.add_text(&delta["text"]);
            reading.add_text(&delta["partial_json"]);
            let tool = places.get(&place).and_then(|index| reading.tools.get_mut(*index));
            if let (Some(tool), Some(piece)) = (tool, delta["partial_json"].as_str()) {
                tool.push_arguments(piece);
            }
        }
        "message_delta" => {
            reading.add_finish_reason(&event["delta"]["stop_reason"]);
            // The last number is the sum of all before.
            if let (Some(count), true) = (&mut reading.usage, event["usage"]["output_tokens"].is_u64()) {
                count.output = tokens(&event["usage"], "output_tokens");
            }
        }
        "message_stop" => reading.ended = true,
        _ => {}
    }
}
