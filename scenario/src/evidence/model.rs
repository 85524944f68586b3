//! What crossed the model gateway.

use serde::{Deserialize, Serialize};

use super::journal::Body;

/// What crossed the model gateway.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRecord {
    /// Each call, in the order in which they came, up to the number that is kept.
    pub calls: Vec<ModelCall>,
    /// How many came after that, and were only counted.
    pub only_counted: u64,
    /// The tools that answers called, in their order.
    pub tools: Vec<ToolUse>,
    /// How many tools answers called after the last one that is kept.
    pub tools_only_counted: u64,
    /// Which variant of each turn of the script this scenario had, for turns that have variants.
    pub variants: Vec<Option<usize>>,
    /// The turns of the script, from 0, that were never answered.
    pub unused_turns: Vec<usize>,
    /// Set when the agent asked for more than the script holds.
    pub exhausted: bool,
    /// Requests that a recording had no answer for, as far as they are kept; each says what came nearest.
    pub misses: Vec<String>,
}

/// One call of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelCall {
    /// When it came, in milliseconds since the agent started.
    pub at_ms: u64,
    /// How long until the last byte of its answer.
    pub duration_ms: u64,
    /// The shape of the call.
    pub dialect: Dialect,
    /// The model that was asked for.
    pub request_model: String,
    /// The model that answered, when it said.
    pub response_model: Option<String>,
    /// Whether the answer was streamed.
    pub stream: bool,
    /// The status of the answer.
    pub status: u16,
    /// The request, as JSON.
    pub request: Body,
    /// The answer: JSON, or the stream as it was sent.
    pub response: Body,
    /// What it counted.
    pub tokens: TokenCount,
    /// What it cost in US dollars; `None` when the model has no price.
    pub cost_usd: Option<f64>,
    /// Why the answer ended, as the provider calls it; one for each choice.
    pub finish_reasons: Vec<String>,
    /// The provider's id of the answer.
    pub response_id: Option<String>,
    /// The turn of the script that answered, from 0.
    pub turn: Option<usize>,
    /// Whether an upstream answered it. What was refused here, or never reached the upstream, has `false`.
    pub from_upstream: bool,
    /// What went wrong, when something did: a refusal, a miss, an upstream that broke.
    pub problem: Option<String>,
}

/// The shape of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// Set when the provider did not say, and the numbers are estimated from the length of the texts.
    pub estimated: bool,
}

/// A tool that an answer called, and what the agent sent back for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolUse {
    /// The id with which calls and results find each other.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as the model wrote them.
    pub arguments: String,
    /// The model call, from 0, whose answer called it.
    pub call: usize,
    /// What was sent back for it; `None` when nothing was.
    pub result: Option<ToolResult>,
}

/// What the agent sent back for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// The model call, from 0, whose request held it first.
    pub call: usize,
    /// Its text.
    pub content: String,
    /// Whether the agent marked it as an error.
    pub is_error: bool,
}

impl ModelRecord {
    /// How many tools answers called, and how many of those the agent marked as failed.
    #[must_use]
    pub fn tool_counts(&self) -> (u64, u64) {
        let failed = self.tools.iter().filter(|tool| tool.result.as_ref().is_some_and(|result| result.is_error));
        ((self.tools.len() as u64).saturating_add(self.tools_only_counted), failed.count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelRecord, ToolResult, ToolUse};

    #[test]
    fn tools_that_were_marked_as_failed_count_as_errors() {
        let result = |is_error| Some(ToolResult { is_error, ..ToolResult::default() });
        let tools = [None, result(false), result(true)].map(|result| ToolUse { result, ..ToolUse::default() });
        let record = ModelRecord { tools: tools.into(), tools_only_counted: 2, ..ModelRecord::default() };
        assert_eq!(record.tool_counts(), (5, 1));
    }
}
