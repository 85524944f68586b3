//! OpenAI's chat completions.

use serde_json::Value as Json;

use super::{ASSISTANT, Called, Message, Part, said};

/// The messages of a request.
pub(super) fn sent(request: &Json) -> Option<Vec<Message>> {
    let mut called = Called::default();
    Some(request["messages"].as_array()?.iter().map(|one| message(one, &mut called)).collect())
}

/// The messages of an answer: one for each choice.
pub(super) fn answered(answer: &Json) -> Option<Vec<Message>> {
    let mut called = Called::default();
    let choices = answer["choices"].as_array()?.iter();
    Some(
        choices
            .map(|choice| Message { role: ASSISTANT.to_owned(), ..message(&choice["message"], &mut called) })
            .collect(),
    )
}

fn message(message: &Json, called: &mut Called) -> Message {
    let role = message["role"].as_str().unwrap_or("unknown");
    if matches!(role, "tool" | "function") {
        return Message::new(role, vec![called.result(&message["tool_call_id"], &message["content"], false)]);
    }
    let mut parts: Vec<Part> = [&message["reasoning_content"], &message["reasoning"]]
        .into_iter()
        .filter_map(|thought| thought.as_str().filter(|thought| !thought.is_empty()))
        .map(|thought| Part::Thought(thought.to_owned()))
        .collect();
    match &message["content"] {
        Json::Array(content) => parts.extend(content.iter().map(part)),
        content => parts.extend(said(content)),
    }
    parts.extend(said(&message["refusal"]));
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default().to_owned();
        parts.push(called.call(&call["id"], &call["function"]["name"], arguments));
    }
    Message::new(role, parts)
}

fn part(part: &Json) -> Part {
    match part["type"].as_str() {
        Some("text" | "refusal") => part["text"].as_str().or_else(|| part["refusal"].as_str()).map(ToOwned::to_owned),
        _ => None,
    }
    .map_or_else(|| Part::Other(part.to_string()), Part::Text)
}
