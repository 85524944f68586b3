//! Decisions after each replica: as few replicas as a bar needs.
//!
//! A [`Rule`] says after every replica, in the order of the plan, whether the bar is reached, missed, or whether another
//! replica is needed. [`Course`] applies it to the replicas of a cell, of which several may run at once: the decision depends
//! on the order of the plan alone, never on the order in which replicas end. [`Characteristics`] computes how often a rule
//! errs, and how many replicas it takes, without any simulation.

mod characteristics;
mod confidence_sequence;
mod course;
mod e_process;
mod sprt;

pub use characteristics::Characteristics;
pub use course::{Course, Replica};

use serde::{Deserialize, Serialize};

use super::{Interval, Share};

/// When a cell has enough replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The pass rate that is asked for.
    pub bar: f64,
    /// How far below the bar a rate is that has to be found; without one, any rate below or above the bar is.
    pub margin: Option<f64>,
    /// The chance that a cell at its bar is called missed.
    pub alpha: f64,
    /// The chance that a cell below its bar is called reached.
    pub beta: f64,
}

/// How a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Wald's sequential probability ratio test, of the bar against the bar less a margin.
    Sprt,
    /// Beta-binomial e-processes, one against all rates below the bar and one against all above.
    EProcess,
}

/// What a rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The bar is reached.
    Reached,
    /// The bar is missed.
    Missed,
}

impl Rule {
    /// How it decides.
    #[must_use]
    pub const fn method(&self) -> Method {
        if self.margin.is_some() { Method::Sprt } else { Method::EProcess }
    }

    /// What it decides after these replicas; `None` when another one is needed.
    #[must_use]
    pub fn decide(&self, share: Share) -> Option<Decision> {
        let [reached, missed] = self.evidence(share);
        if reached.is_enough() {
            Some(Decision::Reached)
        } else if missed.is_enough() {
            Some(Decision::Missed)
        } else {
            None
        }
    }

    /// The reason for what it decides after these replicas, in words.
    #[must_use]
    pub fn reason(&self, share: Share) -> String {
        let [reached, missed] = self.evidence(share);
        let told = |found: Evidence, likelier: &str| format!("{likelier}; {:.1} is enough", found.needed.exp());
        let times = |found: Evidence| readable(found.found.exp());
        let low = ((self.bar - self.margin.unwrap_or(0.0)) * 1000.0).round() / 1000.0;
        match (self.margin.is_some(), reached.is_enough(), missed.is_enough()) {
            (true, true, _) => told(
                reached,
                &format!("{share} passed, {} times as likely at {} as at {low}", times(reached), self.bar),
            ),
            (true, false, true) => {
                told(missed, &format!("{share} passed, {} times as likely at {low} as at {}", times(missed), self.bar))
            }
            (false, true, _) => {
                told(reached, &format!("{share} passed, evidence {} for a rate above {}", times(reached), self.bar))
            }
            (false, false, true) => {
                told(missed, &format!("{share} passed, evidence {} for a rate below {}", times(missed), self.bar))
            }
            (_, false, false) => format!("{share} passed, which is too little evidence either way about {}", self.bar),
        }
    }

    /// How much there is to say that the bar is reached, and that it is missed.
    fn evidence(&self, share: Share) -> [Evidence; 2] {
        match self.margin {
            Some(margin) => sprt::evidence(self, margin, share),
            None => e_process::evidence(self, share),
        }
    }

    /// The range of pass rates that these replicas leave, whenever they were stopped.
    ///
    /// The true rate is above the low end with confidence 1 - beta and below the high end with confidence 1 - alpha, after every
    /// replica at once: stopping early does not make it wrong. Without a margin a bar is reached exactly when the low end
    /// reaches it, and missed exactly when the high end does.
    #[must_use]
    pub fn confidence_sequence(&self, share: Share) -> Interval {
        confidence_sequence::confidence_sequence(share, self.alpha, self.beta)
    }

    /// How many replicas are needed, if all of them pass and if none does; `None` when these are not enough.
    #[must_use]
    pub fn fewest(&self, at_most: usize) -> (Option<usize>, Option<usize>) {
        let first = |passed: fn(usize) -> usize| {
            let is_decided = |judged: &usize| self.decide(Share { passed: passed(*judged), judged: *judged }).is_some();
            (1..=at_most).find(is_decided)
        };
        (first(|judged| judged), first(|_| 0))
    }
}

/// Evidence for a statement, as logarithms.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    found: f64,
    needed: f64,
}

impl Evidence {
    fn is_enough(self) -> bool {
        // Sums that are equal on paper must not be told apart by rounding.
        const ROUNDING: f64 = 1e-9;
        self.found + ROUNDING >= self.needed
    }
}

/// A ratio that people can read, however large it is.
fn readable(ratio: f64) -> String {
    if ratio < 10_000.0 { format!("{ratio:.1}") } else { "more than 10000".to_owned() }
}

impl Method {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sprt => "SPRT",
            Self::EProcess => "e-process",
        }
    }
}

impl Decision {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Missed => "missed",
        }
    }
}
