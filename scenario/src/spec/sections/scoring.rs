//! `scoring`: when a scenario and an experiment pass.

use crate::spec::section::{by_default, choice, section};
use crate::spec::types::Fraction;

section! {
    /// When a scenario passes, and when its replicas together do.
    pub struct Scoring {
        /// The composite that a scenario needs.
        pass_threshold: Fraction = Fraction::ONE,
        /// What a gate asks for.
        gate: GateRule = GateRule::Score,
        /// How the replicas of one cell decide together: `all` without it, or `min_pass_rate` when that is given.
        replica_aggregation: Option<ReplicaAggregation>,
        /// The share of a cell's replicas that must pass, for `replica_aggregation: min_pass_rate`.
        min_pass_rate: Option<Fraction>,
    }
}

choice! {
    /// What a gate asks for.
    pub enum GateRule {
        /// A passed verdict and a score of 1.
        Score = "score",
        /// A passed verdict; a judge that reached its threshold is enough.
        Verdict = "verdict",
    }
}

choice! {
    /// How the replicas of one cell decide together.
    pub enum ReplicaAggregation {
        /// All must pass.
        All = "all",
        /// One must pass.
        Any = "any",
        /// More than half must pass.
        Majority = "majority",
        /// The mean composite must reach `pass_threshold`.
        Mean = "mean",
        /// The share that passes must reach `min_pass_rate`.
        MinPassRate = "min_pass_rate",
    }
}

impl Scoring {
    /// How the replicas of one cell decide together.
    #[must_use]
    pub fn aggregation(&self) -> ReplicaAggregation {
        self.replica_aggregation.unwrap_or(if self.min_pass_rate.is_some() {
            ReplicaAggregation::MinPassRate
        } else {
            ReplicaAggregation::All
        })
    }
}

impl Default for Scoring {
    /// What a spec that says nothing gets.
    fn default() -> Self {
        by_default()
    }
}
