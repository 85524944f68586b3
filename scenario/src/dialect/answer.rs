//! An answer of a model.

use serde_json::Value as Json;

use super::assembly::Assembly;
use super::limits::ReadLimits;
use super::message::{Message, Part, ProposedCall};
use super::stream::StreamReader;
use super::{chat, messages, responses};
use crate::evidence::{Dialect, TokenCount};

/// An answer of a model. All of it is bounded by the limits that it was read with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The reasons why the answer ended, as the provider calls them; one for each choice.
    pub finish_reasons: Vec<String>,
    /// The tokens that the provider counted; `None` when it did not say.
    pub usage: Option<TokenCount>,
    /// The messages: one for each choice, or for each item of a response.
    pub messages: Vec<Message>,
    /// The bytes of text and arguments, those that were left out included.
    pub text_bytes: u64,
    /// The bytes of them that came in pieces, where they come again as a whole at the end.
    pub pieces_bytes: u64,
    /// True when the answer came to its end: a stream without its last event was cut.
    pub ended: bool,
    /// The message of an error inside a stream.
    pub error: Option<String>,
}

impl Answer {
    /// Reads an answer that came in one piece; `None` when it is no JSON object.
    #[must_use]
    pub fn read_whole(dialect: Dialect, bytes: &[u8], limits: ReadLimits) -> Option<Self> {
        let answer: Json = serde_json::from_slice(bytes).ok().filter(Json::is_object)?;
        let mut assembly = Assembly::new(limits);
        assembly.answer.ended = true;
        match dialect {
            Dialect::Chat | Dialect::Embeddings => chat::answer(&answer, &mut assembly),
            Dialect::Responses => responses::answer(&answer, &mut assembly),
            Dialect::Messages => messages::answer(&answer, &mut assembly),
            Dialect::Models | Dialect::Other => {}
        }
        Some(assembly.finish())
    }

    /// Reads a streamed answer that has arrived completely. One that was cut is read up to the cut.
    #[must_use]
    pub fn read_stream(dialect: Dialect, bytes: &[u8], limits: ReadLimits) -> Self {
        let mut reader = StreamReader::new(dialect, limits);
        // The reader looks at the size of an event part by part.
        bytes.chunks(64 * 1024).for_each(|part| reader.push(part));
        reader.finish()
    }

    /// The calls of tools that the answer proposes, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &ProposedCall> {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        parts.filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The bytes of text and arguments, from which tokens are estimated.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.text_bytes.max(self.pieces_bytes)
    }
}

/// A number of tokens.
pub(super) fn tokens(usage: &Json, name: &str) -> u64 {
    // No answer has more than that, and the sum of all still fits.
    usage[name].as_u64().unwrap_or(0).min(1 << 40)
}
