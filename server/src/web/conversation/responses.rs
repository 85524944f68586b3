//! OpenAI's responses.

use serde_json::Value as Json;

use super::{ASSISTANT, Called, Message, Part, said, text};

/// The messages of a request, after the instructions.
pub(super) fn sent(request: &Json) -> Option<Vec<Message>> {
    let instructions = said(&request["instructions"]).map(|said| Message::new("system", vec![said]));
    let mut called = Called::default();
    let input = match &request["input"] {
        Json::String(text) => vec![Message::new("user", vec![Part::Text(text.clone())])],
        Json::Array(items) => items.iter().map(|one| item(one, &mut called)).collect(),
        _ => return None,
    };
    Some(instructions.into_iter().chain(input).collect())
}

/// The messages of an answer: one for each item.
pub(super) fn answered(answer: &Json) -> Option<Vec<Message>> {
    let mut called = Called::default();
    Some(answer["output"].as_array()?.iter().map(|one| item(one, &mut called)).collect())
}

fn item(item: &Json, called: &mut Called) -> Message {
    match item["type"].as_str() {
        Some("function_call") => {
            let arguments = item["arguments"].as_str().unwrap_or_default().to_owned();
            Message::new(ASSISTANT, vec![called.call(&item["call_id"], &item["name"], arguments)])
        }
        Some("function_call_output") => {
            Message::new("tool", vec![called.result(&item["call_id"], &item["output"], false)])
        }
        Some("reasoning") => {
            let summary = text(&item["summary"]);
            let thought = if summary.is_empty() { "not told".to_owned() } else { summary };
            Message::new(ASSISTANT, vec![Part::Thought(thought)])
        }
        Some("message") | None if item["role"].is_string() => {
            Message::new(item["role"].as_str().unwrap_or_default(), parts(&item["content"]))
        }
        _ => Message::new(ASSISTANT, vec![Part::Other(item.to_string())]),
    }
}

fn parts(content: &Json) -> Vec<Part> {
    match content {
        Json::Array(parts) => parts.iter().map(part).collect(),
        content => said(content).into_iter().collect(),
    }
}

fn part(part: &Json) -> Part {
    let text = match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => part["text"].as_str(),
        Some("refusal") => part["refusal"].as_str(),
        _ => None,
    };
    text.map_or_else(|| Part::Other(part.to_string()), |text| Part::Text(text.to_owned()))
}
