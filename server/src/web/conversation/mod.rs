//! A call of a model as people read it: messages, tools and results, whichever provider's shape it has.
//!
//! Only what is understood is read. Whoever shows a call falls back to what was sent where there is nothing.

mod chat;
mod messages;
mod responses;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use scenario::evidence::{Body, Dialect, ModelCall};
use serde_json::Value as Json;

/// Larger bodies are not taken apart.
const MOST_READ: usize = 512 * 1024;
/// The same for answers, which are longer when they were streamed.
const MOST_STREAM: usize = 2 << 20;

/// What was said in one call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Conversation {
    /// The messages of the request, the oldest first.
    pub(super) sent: Vec<Message>,
    /// The names of the tools that were offered.
    pub(super) tools: Vec<String>,
    /// The answer; `None` when it cannot be read.
    pub(super) answer: Option<Vec<Message>>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Message {
    /// Who speaks, as the call says it.
    pub(super) role: String,
    /// What is said.
    pub(super) parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A text.
    Text(String),
    /// What the model thought before it answered.
    Thought(String),
    /// A tool that is called.
    Call {
        /// Which one.
        name: String,
        /// With what: JSON, as it was written.
        arguments: String,
    },
    /// What came of a tool.
    Result {
        /// Which one; the id of the call when it is not known.
        of: String,
        /// Its text.
        content: String,
        /// Whether the agent marked it as an error.
        is_error: bool,
    },
    /// Something else, as JSON: an image, a file, a kind of part that is not known here.
    Other(String),
}

impl Conversation {
    /// Reads a call; `None` when its request is none that is understood.
    pub(super) fn of(call: &ModelCall) -> Option<Self> {
        let request: Json = serde_json::from_slice(whole(&call.request, MOST_READ)?).ok()?;
        let answer = || answer(call.dialect, &read_answer(call)?);
        let (sent, tools) = match call.dialect {
            Dialect::Chat => (chat::sent(&request)?, names(&request["tools"], |tool| &tool["function"]["name"])),
            Dialect::Responses => (responses::sent(&request)?, names(&request["tools"], |tool| &tool["name"])),
            Dialect::Messages => (messages::sent(&request)?, names(&request["tools"], |tool| &tool["name"])),
            Dialect::Embeddings | Dialect::Models | Dialect::Other => return None,
        };
        Some(Self { sent, tools, answer: answer().filter(|answer| !answer.is_empty()) })
    }

    /// How many messages of this call were said before, if the other was an earlier call of the same conversation: all that it
    /// sent, and what the model answered to that.
    pub(super) fn said_before(&self, earlier: &Self) -> Option<usize> {
        let same = !earlier.sent.is_empty() && self.sent.starts_with(&earlier.sent);
        let answered = || self.sent[earlier.sent.len()..].iter().take_while(|message| message.is_answer()).count();
        same.then(|| earlier.sent.len() + answered())
    }
}

impl Message {
    fn new(role: &str, parts: Vec<Part>) -> Self {
        Self { role: role.to_owned(), parts }
    }

    /// Whether the model says it.
    pub(super) fn is_answer(&self) -> bool {
        self.role == ASSISTANT
    }
}

/// What models are called in every shape.
const ASSISTANT: &str = "assistant";

fn answer(dialect: Dialect, answer: &Json) -> Option<Vec<Message>> {
    match dialect {
        Dialect::Chat => chat::answered(answer),
        Dialect::Responses => responses::answered(answer),
        Dialect::Messages => messages::answered(answer),
        Dialect::Embeddings | Dialect::Models | Dialect::Other => None,
    }
}

/// The answer as it is in one piece, also when it was streamed.
fn read_answer(call: &ModelCall) -> Option<Json> {
    let bytes = whole(&call.response, MOST_STREAM)?;
    match serde_json::from_slice(bytes) {
        Ok(answer) => Some(answer),
        Err(_) => stream::gathered(call.dialect, std::str::from_utf8(bytes).ok()?),
    }
}

/// A body of which all was kept, if it is not too large to be taken apart.
fn whole(body: &Body, most: usize) -> Option<&[u8]> {
    match body {
        Body::Kept(blob) if blob.0.len() <= most => Some(&blob.0),
        _ => None,
    }
}

fn names(tools: &Json, name: fn(&Json) -> &Json) -> Vec<String> {
    let all = tools.as_array().into_iter().flatten();
    all.filter_map(|tool| name(tool).as_str().or_else(|| tool["type"].as_str())).map(ToOwned::to_owned).collect()
}

/// The text of something that is a text, or a list of parts with texts.
fn text(content: &Json) -> String {
    match content {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

fn part_text(part: &Json) -> String {
    part["text"].as_str().map_or_else(|| part.to_string(), ToOwned::to_owned)
}

/// Text that has something in it, as a part.
fn said(text: &Json) -> Option<Part> {
    text.as_str().filter(|text| !text.is_empty()).map(|text| Part::Text(text.to_owned()))
}

/// The names of tools by the ids of their calls, with which results find them.
#[derive(Debug, Default)]
struct Called(HashMap<String, String>);

impl Called {
    fn call(&mut self, id: &Json, name: &Json, arguments: String) -> Part {
        let name = name.as_str().unwrap_or_default().to_owned();
        if let Some(id) = id.as_str() {
            self.0.insert(id.to_owned(), name.clone());
        }
        Part::Call { name, arguments }
    }

    fn result(&self, id: &Json, content: &Json, is_error: bool) -> Part {
        let id = id.as_str().unwrap_or_default();
        let of = self.0.get(id).map_or(id, String::as_str).to_owned();
        Part::Result { of, content: text(content), is_error }
    }
}
