//! The traffic of the model gateway.

use serde::{Deserialize, Serialize};

use super::earlier_tools::EarlierToolUse;
use super::fault::FaultMark;
use super::journal::Body;

/// The traffic of the model gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRecord {
    /// Each call, in the order in which they came, up to the number that is kept.
    pub calls: Vec<ModelCall>,
    /// Number of later calls, which were only counted.
    pub only_counted: u64,
    /// Number of tool calls in answers after the last one that is in the call trace.
    pub tools_only_counted: u64,
    /// Tools of evidence that was written before there was a call trace. Reading evidence turns them into one, so that this is
    /// always empty.
    #[serde(rename = "tools", skip_serializing)]
    pub earlier_tools: Vec<EarlierToolUse>,
    /// Index of the variant of each turn of the script in this scenario, for turns that have variants.
    pub variants: Vec<Option<usize>>,
    /// The turns of the script, from 0, that were never answered.
    pub unused_turns: Vec<usize>,
    /// True when the agent asked for more than the script holds.
    pub exhausted: bool,
    /// Requests that a recording had no answer for, as far as they are kept; each with the nearest recorded one.
    pub misses: Vec<String>,
    /// Calls that the provider failed and did not answer later, as far as they are kept. The agent cannot bring them about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provider_failures: Vec<ProviderFailure>,
    /// True when the provider answered no call after the last one that it failed.
    #[serde(skip_serializing_if = "super::is_false")]
    pub provider_down: bool,
}

/// One call of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCall {
    /// Time of the call, in milliseconds since the agent started.
    pub at_ms: u64,
    /// Time until the last byte of its answer, in milliseconds.
    pub duration_ms: u64,
    /// The shape of the call.
    pub dialect: Dialect,
    /// The model that was asked for.
    pub request_model: String,
    /// The model that answered, when it said.
    pub response_model: Option<String>,
    /// True if the answer was streamed.
    pub stream: bool,
    /// The status of the answer.
    pub status: u16,
    /// The request, as JSON.
    pub request: Body,
    /// The answer: JSON, or the stream as it was sent.
    pub response: Body,
    /// The token counts.
    pub tokens: TokenCount,
    /// The cost in US dollars; `None` when the model has no price.
    pub cost_usd: Option<f64>,
    /// The reasons why the answer ended, in the provider's words; one for each choice.
    pub finish_reasons: Vec<String>,
    /// The provider's id of the answer.
    pub response_id: Option<String>,
    /// The turn of the script that answered, from 0.
    pub turn: Option<usize>,
    /// True if an upstream answered it. A call that was refused here, or never reached the upstream, has `false`.
    pub from_upstream: bool,
    /// The problem, if any: a refusal, a miss, an upstream that broke.
    pub problem: Option<String>,
    /// Tries that the upstream failed before this answer, which the agent did not see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<UpstreamTry>,
    /// The provider's failure, when the agent did not cause it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderFailure>,
    /// The fault that hit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultMark>,
    /// The answer of the upstream, when a fault changed it: `response` holds the answer to the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Body>,
}

/// A try of a call that the upstream failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamTry {
    /// Time of the failure, in milliseconds since the call came.
    pub after_ms: u64,
    /// The status of the upstream's answer; `None` when there was none.
    pub status: Option<u16>,
    /// A description of the failure.
    pub reason: String,
}

/// A failure of the model's provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderFailure {
    /// The kind of the failure: temporary or not.
    pub kind: ProviderFailureKind,
    /// A description of the failure, and the fix.
    pub message: String,
}

/// The kind of a provider's failure: temporary or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderFailureKind {
    /// It was unreachable, overloaded or broken.
    Unavailable,
    /// It refused us: the address, the key or the account is wrong.
    Refused,
}

/// The shape of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI's chat completions.
    #[default]
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's embeddings.
    Embeddings,
    /// The list of models.
    Models,
    /// A path that is none of these.
    Other,
}

/// Tokens of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCount {
    /// Tokens of the request, those from the cache included.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the request that the provider had in its cache.
    pub cache_read: u64,
    /// True when the provider did not say, and the numbers are estimated from the length of the texts.
    pub estimated: bool,
}
