//! Answers that were streamed, put together to what they are in one piece. One that was cut is as far as it came.

use std::collections::BTreeMap;

use scenario::evidence::Dialect;
use serde_json::{Value as Json, json};

/// The answer that the events of a stream make; `None` when there is no event that says anything.
pub(super) fn gathered(dialect: Dialect, stream: &str) -> Option<Json> {
    let events = events(stream);
    if events.is_empty() {
        return None;
    }
    match dialect {
        Dialect::Chat => Some(chat(&events)),
        Dialect::Responses => Some(responses(&events)),
        Dialect::Messages => Some(messages(&events)),
        Dialect::Embeddings | Dialect::Models | Dialect::Other => None,
    }
}

/// The data of server-sent events, as far as it is JSON: the lines of each that begin with `data:`, up to an empty line.
fn events(stream: &str) -> Vec<Json> {
    let (mut events, mut data) = (Vec::new(), String::new());
    for line in stream.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("data:") {
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
            data.push('\n');
        } else if line.is_empty() {
            events.extend(serde_json::from_str::<Json>(&data).ok().filter(Json::is_object));
            data.clear();
        }
    }
    events
}

/// A text that grows.
fn push(text: &mut Json, piece: &Json) {
    match (text, piece.as_str()) {
        (Json::String(text), Some(piece)) => text.push_str(piece),
        (text, Some(piece)) => *text = piece.into(),
        (_, None) => {}
    }
}

fn chat(events: &[Json]) -> Json {
    let mut choices: BTreeMap<u64, (Json, BTreeMap<u64, Json>)> = BTreeMap::new();
    for choice in events.iter().filter_map(|event| event["choices"].as_array()).flatten() {
        let (message, tools) = choices.entry(choice["index"].as_u64().unwrap_or(0)).or_default();
        for name in ["content", "refusal", "reasoning_content", "reasoning"] {
            push(&mut message[name], &choice["delta"][name]);
        }
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let tool = tools.entry(call["index"].as_u64().unwrap_or(0)).or_default();
            if call["id"].is_string() {
                tool["id"] = call["id"].clone();
            }
            for name in ["name", "arguments"] {
                push(&mut tool["function"][name], &call["function"][name]);
            }
        }
    }
    let choice = |(mut message, tools): (Json, BTreeMap<u64, Json>)| {
        message["tool_calls"] = tools.into_values().collect();
        json!({ "message": message })
    };
    json!({ "choices": choices.into_values().map(choice).collect::<Vec<_>>() })
}

fn messages(events: &[Json]) -> Json {
    let mut blocks: BTreeMap<u64, (Json, Json)> = BTreeMap::new();
    for event in events {
        let (block, input) = match event["type"].as_str() {
            Some("content_block_start" | "content_block_delta") => {
                blocks.entry(event["index"].as_u64().unwrap_or(0)).or_default()
            }
            _ => continue,
        };
        if event["content_block"].is_object() {
            *block = event["content_block"].clone();
        }
        let delta = &event["delta"];
        if delta.is_object() {
            push(&mut block["text"], &delta["text"]);
            push(&mut block["thinking"], &delta["thinking"]);
            push(input, &delta["partial_json"]);
        }
    }
    let block = |(mut block, input): (Json, Json)| {
        if let Some(text) = input.as_str() {
            block["input"] = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        }
        block
    };
    json!({ "content": blocks.into_values().map(block).collect::<Vec<_>>() })
}

/// The last event has all of it; of a stream that was cut, what was done by then.
fn responses(events: &[Json]) -> Json {
    let is_last = |event: &&Json| {
        let kind = event["type"].as_str().unwrap_or_default();
        matches!(kind, "response.completed" | "response.incomplete" | "response.failed")
    };
    let has_output = |event: &&Json| event["response"]["output"].as_array().is_some_and(|output| !output.is_empty());
    if let Some(last) = events.iter().rev().filter(is_last).find(has_output) {
        return last["response"].clone();
    }
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    json!({ "output": done.map(|event| event["item"].clone()).collect::<Vec<_>>() })
}
