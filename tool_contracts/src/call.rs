//! Calls, and the exchange with the model that proposed them.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::canonical::canonical;
use crate::reason::Reason;

/// One attempt to use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The id, unique in the session.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments; a string when they could not be parsed.
    pub arguments: Json,
}

impl Call {
    /// The text by which repetitions are found: the tool, and its arguments whatever the order of their keys.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!("{} {}", self.tool, canonical(&self.arguments))
    }
}

/// A request to a model and its response, in one form for all providers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange {
    /// `{model, messages, tools, tool_choice}`.
    pub request: Json,
    /// `{content, finish_reason, tool_calls: [{name, arguments}]}`.
    pub response: Json,
}

/// A request to a model as it was sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The provider, such as `openai`; empty when it is not known.
    pub provider: String,
    /// The body.
    pub body: Json,
}

/// The calls of one step that were judged so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// The number of the step, from 1: that of the attempt which is going on.
    pub step: u64,
    /// The calls that were allowed or held, in their order.
    pub accepted: Vec<Call>,
    /// The exchange that proposed them, when it was seen.
    pub exchange: Option<Exchange>,
    /// The reasons of rules about the exchange against the call that is decided on, where a record has them in place of the exchange.
    pub exchange_reasons: Option<Vec<Reason>>,
}

/// The outcome of a call that was released.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It succeeded, with this output.
    Ok(Json),
    /// It succeeded, and nothing came back.
    OkEmpty,
    /// It failed: `{status, code, message}`.
    Error(Json),
    /// No reply came.
    Lost,
}

/// The witness of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// A gateway saw it on the wire.
    Gateway,
    /// Only the agent said so.
    SelfReported,
}
