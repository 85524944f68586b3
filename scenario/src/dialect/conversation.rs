//! A recorded call of a model as a conversation.

use serde_json::Value as Json;

use super::answer::Answer;
use super::assembly::Assembly;
use super::limits::ReadLimits;
use super::message::Message;
use super::{chat, messages, responses};
use crate::evidence::{Body, Dialect, ModelCall};

/// The largest request that is taken apart.
const MOST_REQUEST: usize = 512 * 1024;
/// The largest answer: it is longer when it was streamed.
const MOST_ANSWER: usize = 2 << 20;

/// A request to a model and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// The model that was asked for; empty when none was named.
    pub model: String,
    /// The messages of the request, the oldest first.
    pub sent: Vec<Message>,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// The answer; `None` when it cannot be read.
    pub answer: Option<Answer>,
}

impl Conversation {
    /// Reads a recorded call; `None` when its request is none that is understood, or too large to be taken apart.
    #[must_use]
    pub fn read_call(call: &ModelCall) -> Option<Self> {
        let request: Json = serde_json::from_slice(whole(&call.request, MOST_REQUEST)?).ok()?;
        let read = Self::read_request(call.dialect, &request)?;
        Some(Self { answer: read_answer(call), ..read })
    }

    /// Reads a request; `None` when it is none that is understood.
    #[must_use]
    pub fn read_request(dialect: Dialect, request: &Json) -> Option<Self> {
        let mut assembly = Assembly::new(ReadLimits::NONE);
        match dialect {
            Dialect::Chat => chat::request(request, &mut assembly)?,
            Dialect::Responses => responses::request(request, &mut assembly)?,
            Dialect::Messages => messages::request(request, &mut assembly)?,
            Dialect::Embeddings | Dialect::Models | Dialect::Other => return None,
        }
        let model = request["model"].as_str().unwrap_or_default().to_owned();
        Some(Self { model, sent: assembly.into_messages(), tools: offered(dialect, &request["tools"]), answer: None })
    }

    /// The messages of the answer.
    #[must_use]
    pub fn answered(&self) -> &[Message] {
        self.answer.as_ref().map_or(&[], |answer| &answer.messages)
    }

    /// Counts the messages of this call that repeat an earlier call of the same conversation: all that it sent, and the
    /// model's answer to it. Returns `None` if the other was no such call.
    #[must_use]
    pub fn said_before(&self, earlier: &Self) -> Option<usize> {
        let same = !earlier.sent.is_empty() && self.sent.starts_with(&earlier.sent);
        let answered = || self.sent[earlier.sent.len()..].iter().take_while(|message| message.is_answer()).count();
        same.then(|| earlier.sent.len() + answered())
    }
}

/// Reads the answer, whole or streamed; `None` when it says nothing.
fn read_answer(call: &ModelCall) -> Option<Answer> {
    let bytes = whole(&call.response, MOST_ANSWER)?;
    let streamed = || {
        // A last event without its empty line was kept, too.
        let ended = [bytes, b"\n\n"].concat();
        Answer::read_stream(call.dialect, &ended, ReadLimits::NONE)
    };
    let answer = Answer::read_whole(call.dialect, bytes, ReadLimits::NONE).unwrap_or_else(streamed);
    Some(answer).filter(|answer| !answer.messages.is_empty())
}

/// A body of which all was kept, if it is not too large to be taken apart.
fn whole(body: &Body, most: usize) -> Option<&[u8]> {
    match body {
        Body::Kept(blob) if blob.0.len() <= most => Some(&blob.0),
        _ => None,
    }
}

/// The names of the tools that a request offers. A tool of the provider has a type and maybe no name.
fn offered(dialect: Dialect, tools: &Json) -> Vec<String> {
    let name = |tool: &Json| {
        let holder = if dialect == Dialect::Chat { &tool["function"] } else { tool };
        holder["name"].as_str().or_else(|| tool["type"].as_str()).map(ToOwned::to_owned)
    };
    tools.as_array().into_iter().flatten().filter_map(name).collect()
}
