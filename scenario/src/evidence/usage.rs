//! The usage that the model gateway counted.

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
    /// The cost in US dollars, by the price table; `None` when the model has no price there.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Returns the cost, when it is known and can be added up.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.cost_usd.filter(|cost| cost.is_finite() && (0.0..1e9).contains(cost))
    }

    /// Counts another usage too. The cost is known as long as all of it is.
    pub fn add(&mut self, other: &Self) {
        let is_first = self.calls == 0;
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        if other.calls > 0 {
            self.model.clone_from(&other.model);
            self.cost_usd = match (self.cost_usd, other.cost_usd) {
                (_, cost) if is_first => cost,
                (Some(one), Some(other)) => Some(one + other),
                _ => None,
            };
        }
    }

    /// Tokens of requests and answers together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}
