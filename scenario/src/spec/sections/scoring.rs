//! `scoring`: when a scenario and an experiment pass.

use serde::Serialize;

use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{by_default, choice, section};
use crate::spec::shape::Shape;
use crate::spec::types::{Confidence, Fraction, PassRate};
use crate::spec::yaml::{Kind, Node};

section! {
    /// When a scenario passes, and when its replicas together do.
    pub struct Scoring {
        /// The composite that a scenario needs.
        pass_threshold: Fraction = Fraction::ONE,
        /// What a gate asks for.
        gate: GateRule = GateRule::Score,
        /// How the replicas of one cell decide together: `all` without it, or `min_pass_rate` when that is given.
        replica_aggregation: Option<ReplicaAggregation>,
        /// The share of a cell's replicas that must pass, for `replica_aggregation: min_pass_rate`. With `at_least` and `confidence`
        /// it has to be shown by them: the cell is undecided when there are too few.
        min_pass_rate: Option<MinPassRate>,
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

/// The share of a cell's replicas that must pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MinPassRate {
    /// The share of those that were run.
    Observed(Fraction),
    /// The share that they show.
    Shown(ShownPassRate),
}

section! {
    /// A pass rate that the replicas of a cell must show, by the exact bounds of Clopper and Pearson: the cell passes when the lower bound
    /// reaches it, fails when the upper bound is below it, and is undecided otherwise.
    ///
    /// ```yaml
    /// scoring:
    ///   min_pass_rate: { at_least: 0.9, confidence: 0.95 }
    /// ```
    pub struct ShownPassRate {
        /// The pass rate.
        at_least: PassRate,
        /// The confidence with which each of the two bounds holds.
        confidence: Confidence = Confidence::USUAL,
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

    /// Returns the rule by which the replicas of one cell decide together.
    #[must_use]
    pub fn aggregation(&self) -> ReplicaAggregation {
        self.replica_aggregation.unwrap_or(if self.min_pass_rate.is_some() {
            ReplicaAggregation::MinPassRate
        } else {
            ReplicaAggregation::All
        })
    }
}

impl MinPassRate {
    /// The share that is asked for.
    #[must_use]
    pub fn bar(&self) -> Fraction {
        match self {
            Self::Observed(share) => *share,
            Self::Shown(shown) => Fraction::new(shown.at_least.get()).unwrap_or(Fraction::ONE),
        }
    }

    /// The confidence with which it has to be shown.
    #[must_use]
    pub const fn shown(&self) -> Option<&ShownPassRate> {
        match self {
            Self::Observed(_) => None,
            Self::Shown(shown) => Some(shown),
        }
    }
}

impl Readable for MinPassRate {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::Map(_) => ShownPassRate::read(node, reader).map(Self::Shown),
            _ => Fraction::read(node, reader).map(Self::Observed),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![Fraction::shape(), ShownPassRate::shape()])
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
    /// Returns the scoring of a spec without `scoring`.
    fn default() -> Self {
        by_default()
    }
}
