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
        /// The weights of the parts of the overall score. They can also stand directly under `scoring`.
        weights: Option<OverallWeights>,
        /// The weight of `mutations`, when `weights` is not there.
        mutation: Option<Fraction>,
        /// The weight of the chaos cells, when `weights` is not there.
        chaos: Option<Fraction>,
        /// The weight of the contract, when `weights` is not there.
        contract: Option<Fraction>,
        /// The weight of `replays`, when `weights` is not there.
        replay: Option<Fraction>,
        /// The overall score that the experiment needs, from 0 to 1.
        min_overall: Option<Fraction>,
    }
}

section! {
    /// The weights of the parts of the overall score, which add up to 1. A part that is left out counts 0. Without any weight,
    /// they are 0.20, 0.35, 0.35 and 0.10.
    ///
    /// ```yaml
    /// scoring:
    ///   weights: { mutation: 0.2, chaos: 0.35, contract: 0.35, replay: 0.1 }
    /// ```
    pub struct OverallWeights {
        /// The robustness against `mutations`.
        mutation: Option<Fraction>,
        /// The share of scenarios with faults that passed by the spec's own invariants.
        chaos: Option<Fraction>,
        /// The contract's resilience score.
        contract: Option<Fraction>,
        /// The share of `replays` that passed.
        replay: Option<Fraction>,
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
    /// The weights of the parts of the overall score, as they were given: below `weights`, or directly.
    #[must_use]
    pub fn given_weights(&self) -> Option<OverallWeights> {
        let Self { mutation, chaos, contract, replay, .. } = *self;
        let direct = OverallWeights { mutation, chaos, contract, replay };
        self.weights.clone().or_else(|| direct.is_given().then_some(direct))
    }

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

impl OverallWeights {
    /// The weights that count: mutation, chaos, contract, replay.
    #[must_use]
    pub fn values(&self) -> [f64; 4] {
        [self.mutation, self.chaos, self.contract, self.replay].map(|weight| weight.map_or(0.0, Fraction::get))
    }

    fn is_given(&self) -> bool {
        [self.mutation, self.chaos, self.contract, self.replay].iter().any(Option::is_some)
    }
}

impl Default for Scoring {
    /// What a spec that says nothing gets.
    fn default() -> Self {
        by_default()
    }
}
