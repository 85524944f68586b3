//! What the model gateway counted.

use serde::{Deserialize, Serialize};

/// Calls, tokens and cost of a scenario.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Calls of the model.
    pub calls: u64,
    /// Tokens of the requests.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Tokens of the requests that the provider had in its cache.
    pub cache_read_tokens: u64,
    /// The model that was asked; the last one when there were several.
    pub model: String,
    /// What it cost in US dollars, by the price table; `None` when the model has no price there.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// What it cost, when that is known and can be added up.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.cost_usd.filter(|cost| cost.is_finite() && (0.0..1e9).contains(cost))
    }

    /// Tokens of requests and answers together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}
