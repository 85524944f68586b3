//! Results of tools in the conversation that a request repeats. They are borrowed: each request holds all results so far,
//! and most of them are known.

use serde_json::Value as Json;

use super::message::{ReportedResult, text_of};
use super::{chat, messages, responses};
use crate::evidence::Dialect;

/// A result of a tool, as a request holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentResult<'a> {
    /// The id of the call; empty when there is none.
    pub id: &'a str,
    /// The result: a text, parts with texts, or something else.
    pub(super) content: &'a Json,
    /// True when the agent marked it as an error.
    pub is_error: bool,
}

impl SentResult<'_> {
    /// The result as text: that of its parts when it has parts, and its JSON when it is something else.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(self.content)
    }

    /// The result as a part of a message, without the name of its tool.
    pub(super) fn to_reported(&self) -> ReportedResult {
        ReportedResult { id: self.id.to_owned(), tool: None, content: self.text(), is_error: self.is_error }
    }
}

/// Every result of a tool in the conversation, in its order.
#[must_use]
pub fn tool_results(dialect: Dialect, request: &Json) -> Vec<SentResult<'_>> {
    let list = |name: &str| request[name].as_array().map_or(&[][..], Vec::as_slice);
    match dialect {
        Dialect::Chat => {
            list("messages").iter().filter(|message| message["role"] == "tool").map(chat::result).collect()
        }
        Dialect::Responses => list("input").iter().filter_map(responses::result).collect(),
        Dialect::Messages => {
            let blocks = list("messages").iter().filter_map(|message| message["content"].as_array()).flatten();
            blocks.filter_map(messages::result).collect()
        }
        Dialect::Embeddings | Dialect::Models | Dialect::Other => Vec::new(),
    }
}
