//! Anthropic's messages.

use serde_json::Value as Json;

use super::{ASSISTANT, Called, Message, Part, said, text};

/// The messages of a request, after what the system says.
pub(super) fn sent(request: &Json) -> Option<Vec<Message>> {
    let mut called = Called::default();
    let system = text(&request["system"]);
    let system = (!system.is_empty()).then(|| Message::new("system", vec![Part::Text(system)]));
    let messages = request["messages"].as_array()?.iter().map(|message| {
        let role = message["role"].as_str().unwrap_or("unknown");
        Message::new(role, parts(&message["content"], &mut called))
    });
    Some(system.into_iter().chain(messages).collect())
}

/// The message of an answer.
pub(super) fn answered(answer: &Json) -> Option<Vec<Message>> {
    answer["content"].is_array().then(|| {
        let parts = parts(&answer["content"], &mut Called::default());
        vec![Message::new(ASSISTANT, parts)]
    })
}

fn parts(content: &Json, called: &mut Called) -> Vec<Part> {
    match content {
        Json::Array(blocks) => blocks.iter().filter_map(|block| part(block, called)).collect(),
        content => said(content).into_iter().collect(),
    }
}

fn part(block: &Json, called: &mut Called) -> Option<Part> {
    match block["type"].as_str() {
        Some("text") => said(&block["text"]),
        Some("thinking") => block["thinking"].as_str().map(|thought| Part::Thought(thought.to_owned())),
        Some("tool_use") => Some(called.call(&block["id"], &block["name"], block["input"].to_string())),
        Some("tool_result") => Some(called.result(&block["tool_use_id"], &block["content"], block["is_error"] == true)),
        _ => Some(Part::Other(block.to_string())),
    }
}
