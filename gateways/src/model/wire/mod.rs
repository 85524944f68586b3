//! Answers of a script, in the shapes of the providers.

mod chat;
mod embeddings;
mod messages;
mod models;
mod responses;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use scenario::evidence::{Dialect, TokenCount};
use serde_json::{Value as Json, json};

pub(super) use embeddings::{Embedding, embeddings};
pub(super) use models::models;

/// Creation time of everything, in seconds: the same in every run, so that the same script gives the same bytes.
const CREATED: u64 = 1_735_689_600;
/// Least number of characters in one piece of a stream.
const PIECE: usize = 16;
/// Into how many pieces a text is cut at most.
const PIECES: usize = 64;

/// Answer of a script.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    /// Number of the gateway's answer, from 0; ids derive from it.
    pub(super) number: u64,
    /// Its id, when a provider gave it one.
    pub(super) id: Option<String>,
    /// The model that was asked for.
    pub(super) model: String,
    pub(super) content: Option<String>,
    pub(super) tools: Vec<ReplyTool>,
    pub(super) tokens: TokenCount,
    /// Number of times that the answer stands in it (`n` of chat completions).
    pub(super) choices: usize,
    /// True when a stream ends with the counts of tokens.
    pub(super) include_usage: bool,
    /// Reason for its end.
    pub(super) finish: Finish,
}

/// Reason for the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Finish {
    /// The answer is complete.
    #[default]
    Natural,
    /// The answer reached its limit of tokens.
    Length,
    /// A filter withheld it.
    ContentFilter,
}

/// A tool that an answer calls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReplyTool {
    /// End of its id.
    pub(super) key: String,
    /// Its id, when a provider gave it one.
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Json,
    /// Text in the place of the arguments, when a fault broke them.
    pub(super) broken: Option<String>,
}

impl ReplyTool {
    /// Its id, in a dialect whose ids begin like this.
    fn id(&self, prefix: &str) -> String {
        self.id.clone().unwrap_or_else(|| format!("{prefix}{}", self.key))
    }

    /// The arguments as they are sent.
    fn arguments_text(&self) -> String {
        self.broken.clone().unwrap_or_else(|| self.arguments.to_string())
    }
}

impl Reply {
    /// Its id, in a dialect whose ids begin like this.
    fn id(&self, prefix: &str) -> String {
        self.id.clone().unwrap_or_else(|| format!("{prefix}{}", self.number))
    }

    /// The answer as it is sent.
    pub(super) fn render(&self, dialect: Dialect, stream: bool) -> Bytes {
        match (dialect, stream) {
            (Dialect::Responses, false) => responses::whole(self).to_string().into(),
            (Dialect::Responses, true) => responses::stream(self).into(),
            (Dialect::Messages, false) => messages::whole(self).to_string().into(),
            (Dialect::Messages, true) => messages::stream(self).into(),
            (_, false) => chat::whole(self).to_string().into(),
            (_, true) => chat::stream(self).into(),
        }
    }

    /// Returns the number of characters in the answer.
    pub(super) fn characters(&self) -> usize {
        let tool = |tool: &ReplyTool| tool.name.len() + tool.arguments.to_string().len();
        self.content.as_ref().map_or(0, String::len) + self.tools.iter().map(tool).sum::<usize>()
    }
}

/// A text in pieces, as a stream sends it.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let length = text.chars().count().div_ceil(PIECES).max(PIECE);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(end, _)| end);
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Formats an event, whose data has its name as `type` before everything else.
fn event(name: &str, data: Json) -> String {
    let mut typed = json!({"type": name});
    if let (Json::Object(typed), Json::Object(data)) = (&mut typed, data) {
        typed.extend(data);
    }
    format!("event: {name}\ndata: {typed}\n\n")
}
