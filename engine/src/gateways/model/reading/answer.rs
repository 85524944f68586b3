//! What an answer says.

use scenario::evidence::{Dialect, TokenCount};
use serde_json::Value as Json;

use super::{chat, messages, responses};
use crate::gateways::model::limits::{NAME_BYTES, TOOL_TEXT_BYTES, TOOLS_OF_AN_ANSWER};

/// What an answer says. Everything in it is bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::gateways::model) struct Reading {
    pub(in crate::gateways::model) id: Option<String>,
    pub(in crate::gateways::model) model: Option<String>,
    pub(in crate::gateways::model) finish_reasons: Vec<String>,
    pub(in crate::gateways::model) tools: Vec<Tool>,
    /// What the provider counted; `None` when it did not say.
    pub(in crate::gateways::model) usage: Option<TokenCount>,
    /// How many bytes of text and arguments the answer has, to estimate its tokens.
    pub(in crate::gateways::model) text_bytes: u64,
    /// How many bytes of them came in pieces, where they come again as a whole at the end.
    pub(in crate::gateways::model) pieces_bytes: u64,
    /// Whether the answer came to its end: a stream without its last event was cut.
    pub(in crate::gateways::model) ended: bool,
    /// What an error inside a stream says.
    pub(in crate::gateways::model) error: Option<String>,
}

/// A tool that an answer calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::gateways::model) struct Tool {
    pub(in crate::gateways::model) id: String,
    pub(in crate::gateways::model) name: String,
    pub(in crate::gateways::model) arguments: String,
}

impl Reading {
    /// Reads an answer that came in one piece; `None` when it is no JSON object.
    pub(in crate::gateways::model) fn of_json(dialect: Dialect, bytes: &[u8]) -> Option<Self> {
        let answer: Json = serde_json::from_slice(bytes).ok().filter(Json::is_object)?;
        let mut reading = Self { ended: true, ..Self::default() };
        match dialect {
            Dialect::Chat | Dialect::Embeddings => chat::whole(&answer, &mut reading),
            Dialect::Responses => responses::whole(&answer, &mut reading),
            Dialect::Messages => messages::whole(&answer, &mut reading),
            Dialect::Models | Dialect::Other => {}
        }
        Some(reading)
    }

    pub(super) fn take_id_and_model(&mut self, answer: &Json) {
        let take = |name: &str| answer[name].as_str().map(|text| beginning(text, NAME_BYTES).to_owned());
        self.id = take("id").or(self.id.take());
        self.model = take("model").or(self.model.take());
    }

    pub(super) fn add_finish_reason(&mut self, reason: &Json) {
        if let Some(reason) = reason.as_str()
            && self.finish_reasons.len() < TOOLS_OF_AN_ANSWER
        {
            self.finish_reasons.push(beginning(reason, NAME_BYTES).to_owned());
        }
    }

    /// How many bytes of text and arguments came.
    pub(in crate::gateways::model) fn bytes(&self) -> u64 {
        self.text_bytes.max(self.pieces_bytes)
    }

    pub(super) fn add_text(&mut self, text: &Json) {
        self.text_bytes += text.as_str().map_or(0, str::len) as u64;
    }

    /// Adds a tool; its arguments may follow in pieces. `None` when there are too many.
    pub(super) fn add_tool(&mut self, id: &Json, name: &Json) -> Option<&mut Tool> {
        if self.tools.len() >= TOOLS_OF_AN_ANSWER {
            return None;
        }
        let text = |json: &Json| beginning(json.as_str().unwrap_or_default(), NAME_BYTES).to_owned();
        let tool = Tool { id: text(id), name: text(name), arguments: String::new() };
        self.text_bytes += tool.name.len() as u64;
        self.tools.push(tool);
        self.tools.last_mut()
    }

    /// Adds a tool that came whole.
    pub(super) fn add_whole_tool(&mut self, id: &Json, name: &Json, arguments: &str) {
        self.text_bytes += arguments.len() as u64;
        if let Some(tool) = self.add_tool(id, name) {
            tool.push_arguments(arguments);
        }
    }
}

impl Tool {
    /// Adds a piece of the arguments, as far as there is room.
    pub(super) fn push_arguments(&mut self, piece: &str) {
        let left = TOOL_TEXT_BYTES.saturating_sub(self.arguments.len());
        self.arguments.push_str(beginning(piece, left));
    }
}

/// The beginning of a text.
pub(in crate::gateways::model) fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// A number of tokens.
pub(super) fn tokens(usage: &Json, name: &str) -> u64 {
    // No answer has more than that, and the sum of all still fits.
    usage[name].as_u64().unwrap_or(0).min(1 << 40)
}
