//! `parallelism.replicas`: a number of replicas, or a rule that stops when a bar is decided.

use serde::Serialize;

use super::Scoring;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::{choice, section};
use crate::spec::shape::Shape;
use crate::spec::types::{ErrorRate, PassRate, Whole};
use crate::spec::yaml::{Kind, Node};
use crate::statistics::sequential::Rule;

/// How often each cell is run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Replicas {
    /// So often.
    Fixed(Whole<1, 10_000>),
    /// Until a bar is reached or missed.
    Until(UntilDecided),
}

section! {
    /// Runs a cell until its pass rate is known well enough: until the bar is reached, or missed, or `at_most` replicas have
    /// ended without either.
    ///
    /// With a `margin`, the cell is tested against the bar and against the bar less the margin (a sequential probability ratio
    /// test). Without one, any rate above the bar is told from any rate below it (an e-process), which takes more replicas.
    ///
    /// ```yaml
    /// parallelism:
    ///   replicas: { until: decided, bar: 0.9, margin: 0.2, at_most: 60 }
    /// ```
    pub struct UntilDecided {
        /// When to stop.
        until: StopWhen,
        /// The pass rate that a cell needs. It can also stand at `scoring.min_pass_rate`.
        bar: Option<PassRate>,
        /// How far below the bar a pass rate is that must be found. It is smaller than the bar.
        margin: Option<PassRate>,
        /// The largest number of replicas of a cell. All of them are planned; those that are not needed are not run.
        at_most: Whole<1, 10_000> = Whole::new(60),
        /// The chance that a cell with a pass rate of the bar is called missed.
        alpha: ErrorRate = ErrorRate::USUAL,
        /// The chance that a cell with a pass rate of the bar less the margin is called reached; without a margin, one with any rate
        /// below the bar.
        beta: ErrorRate = ErrorRate::USUAL,
    }
}

choice! {
    /// When the replicas of a cell are enough.
    pub enum StopWhen {
        /// When its bar is reached or missed.
        Decided = "decided",
    }
}

impl Replicas {
    /// How many replicas of each cell are planned.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Fixed(count) => count.count(),
            Self::Until(until) => until.at_most.count(),
        }
    }

    /// The rule that can stop them early.
    #[must_use]
    pub const fn until(&self) -> Option<&UntilDecided> {
        match self {
            Self::Fixed(_) => None,
            Self::Until(until) => Some(until),
        }
    }
}

impl UntilDecided {
    /// The rule in numbers; `None` when no bar is given, which is a finding of its own.
    #[must_use]
    pub fn rule(&self, scoring: &Scoring) -> Option<Rule> {
        let of_scoring = || PassRate::new(scoring.min_pass_rate.as_ref()?.bar().get());
        Some(Rule {
            bar: self.bar.or_else(of_scoring)?.get(),
            margin: self.margin.map(PassRate::get),
            alpha: self.alpha.get(),
            beta: self.beta.get(),
        })
    }
}

impl Readable for Replicas {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match &node.kind {
            Kind::Map(_) => UntilDecided::read(node, reader).map(Self::Until),
            _ => Whole::read(node, reader).map(Self::Fixed),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![Whole::<1, 10_000>::shape(), UntilDecided::shape()])
    }
}
