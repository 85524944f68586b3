//! Tokens and cost over several specs, as if they were one.

use serde::{Deserialize, Serialize};

use crate::score::ExperimentScore;
use crate::statistics::count;

/// Tokens and cost of all scenarios that were judged, whatever their spec.
///
/// A success is paid for by all scenarios, those that failed included: an agent that tries until it succeeds pays for every try.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Pooled {
    /// How many scenarios were judged.
    pub judged: usize,
    /// How many of them passed.
    pub passed: usize,
    /// The tokens of all of them.
    pub total_tokens: u64,
    /// What all of them cost; scenarios without a known price count 0.
    pub total_cost_usd: f64,
    /// How many used tokens of a model without a known price.
    pub unpriced: usize,
    /// Tokens for each that passed; `None` when none did.
    pub tokens_per_success: Option<f64>,
    /// Dollars for each that passed; `None` when none did.
    pub cost_per_success_usd: Option<f64>,
}

impl Pooled {
    /// Adds up experiments.
    #[must_use]
    pub fn of<'a>(scores: impl IntoIterator<Item = &'a ExperimentScore>) -> Self {
        let mut pooled = Self::default();
        for score in scores {
            pooled.judged += score.passed + score.failed + score.flaky;
            pooled.passed += score.passed;
            pooled.total_tokens = pooled.total_tokens.saturating_add(score.metrics.total_tokens);
            pooled.total_cost_usd += score.metrics.total_cost_usd;
            pooled.unpriced += score.metrics.unpriced;
        }
        pooled.tokens_per_success = pooled.per_success(float(pooled.total_tokens));
        pooled.cost_per_success_usd = pooled.per_success(pooled.total_cost_usd);
        pooled
    }

    fn per_success(&self, total: f64) -> Option<f64> {
        (self.passed > 0).then(|| total / count(self.passed))
    }

    /// What a token costs by the prices of the models, when those of all are known.
    #[must_use]
    pub fn cost_of_models(&self) -> Option<f64> {
        (self.unpriced == 0 && self.total_cost_usd > 0.0).then_some(self.total_cost_usd)
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^53")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
