//! OpenAI's chat completions, and what embeddings have in common with them.

use std::collections::BTreeMap;

use scenario::evidence::TokenCount;
use serde_json::Value as Json;

use super::answer::{Reading, tokens};

/// Reads an answer that came in one piece.
pub(super) fn whole(answer: &Json, reading: &mut Reading) {
    reading.take_id_and_model(answer);
    reading.usage = usage(&answer["usage"]);
    for choice in answer["choices"].as_array().into_iter().flatten() {
        reading.add_finish_reason(&choice["finish_reason"]);
        let message = &choice["message"];
        reading.add_text(&message["content"]);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            reading.add_whole_tool(&call["id"], &call["function"]["name"], arguments);
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

/// Where each tool of a stream stands in the reading, by its choice and its index in it.
pub(super) type Places = BTreeMap<(u64, u64), usize>;

/// Reads one chunk of a stream.
pub(super) fn chunk(chunk: &Json, reading: &mut Reading, places: &mut Places) {
    reading.take_id_and_model(chunk);
    reading.usage = usage(&chunk["usage"]).or(reading.usage);
    for choice in chunk["choices"].as_array().into_iter().flatten() {
        reading.add_finish_reason(&choice["finish_reason"]);
        let delta = &choice["delta"];
        reading.add_text(&delta["content"]);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            tool(choice["index"].as_u64().unwrap_or(0), call, reading, places);
        }
    }
}

fn tool(choice: u64, call: &Json, reading: &mut Reading, places: &mut Places) {
    let place = (choice, call["index"].as_u64().unwrap_or(0));
    let function = &call["function"];
    let arguments = function["arguments"].as_str().unwrap_or_default();
    reading.text_bytes += arguments.len() as u64;
    let known = places.get(&place).copied();
    let tool = match known {
        Some(index) => reading.tools.get_mut(index),
        None => {
            let index = reading.tools.len();
            let added = reading.add_tool(&call["id"], &function["name"]);
            if added.is_some() {
                places.insert(place, index);
            }
            added
        }
    };
    if let Some(tool) = tool {
        tool.push_arguments(arguments);
    }
}
