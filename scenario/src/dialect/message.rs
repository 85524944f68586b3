//! Messages of a conversation, whichever dialect they came in.

use std::collections::HashMap;

use serde_json::Value as Json;

/// The role of models in every dialect.
pub(super) const ASSISTANT: &str = "assistant";
/// The role of a message that does not say whose it is.
pub(super) const UNKNOWN: &str = "unknown";

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The speaker, as the call names it.
    pub role: String,
    /// The parts, in their order.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A text.
    Text(String),
    /// A text that the model thought before it answered.
    Thought(String),
    /// A tool that the model calls.
    Call(ProposedCall),
    /// A result of a tool, which the agent sends back.
    Result(ReportedResult),
    /// Something else, as JSON: an image, a file, a kind of part that is not known here.
    Other(String),
}

/// A call of a tool that the model proposes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProposedCall {
    /// The id with which calls and results find each other; empty when the model gave none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: JSON, as the model wrote it.
    pub arguments: String,
}

/// A result of a tool that the agent reports to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportedResult {
    /// The id of the call.
    pub id: String,
    /// The tool; `None` when the conversation does not hold its call.
    pub tool: Option<String>,
    /// The text of the result.
    pub content: String,
    /// True when the agent marked it as an error.
    pub is_error: bool,
}

impl Message {
    /// Returns whether the model says it.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.role == ASSISTANT
    }
}

impl ReportedResult {
    /// The tool, or the id of the call when the tool is not known.
    #[must_use]
    pub fn tool_or_id(&self) -> &str {
        self.tool.as_deref().unwrap_or(&self.id)
    }
}

/// Names the tools of results by the calls that stand before them.
pub(super) fn name_tools(messages: &mut [Message]) {
    let mut names = HashMap::new();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::Call(call) if !call.id.is_empty() => {
                names.insert(call.id.clone(), call.name.clone());
            }
            Part::Result(result) => result.tool = names.get(&result.id).cloned(),
            _ => {}
        }
    }
}

/// The text of something that is a text, or a list of parts with texts; the JSON of anything else.
pub(super) fn text_of(content: &Json) -> String {
    match content {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().map(text_of_part).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

fn text_of_part(part: &Json) -> String {
    part["text"].as_str().map_or_else(|| part.to_string(), ToOwned::to_owned)
}
