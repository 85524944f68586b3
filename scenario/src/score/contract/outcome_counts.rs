//! Counts of outcomes: of the runs of a cell, of the worlds of a contract, and over runs in the history.

use serde::{Deserialize, Serialize};

use super::Outcome;

/// The number of times that faults came to each outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// Everything held.
    pub recovered: u64,
    /// The task was not done, and nothing worse.
    pub degraded: u64,
    /// The agent said something that is not true.
    pub fabricated: u64,
    /// The state of the world was wrong, or something forbidden was done.
    pub corrupted: u64,
}

impl OutcomeCounts {
    /// The number of times of one outcome.
    #[must_use]
    pub const fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Recovered => self.recovered,
            Outcome::Degraded => self.degraded,
            Outcome::Fabricated => self.fabricated,
            Outcome::Corrupted => self.corrupted,
        }
    }

    /// All outcomes together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.recovered + self.degraded + self.fabricated + self.corrupted
    }

    /// Lists the outcomes that occurred, from good to bad, such as `2 recovered, 1 corrupted`.
    #[must_use]
    pub fn words(&self) -> String {
        let there = Outcome::ALL.into_iter().filter(|outcome| self.of(*outcome) > 0);
        there.map(|outcome| format!("{} {}", self.of(outcome), outcome.word())).collect::<Vec<_>>().join(", ")
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.total() == 0
    }

    fn place(&mut self, outcome: Outcome) -> &mut u64 {
        match outcome {
            Outcome::Recovered => &mut self.recovered,
            Outcome::Degraded => &mut self.degraded,
            Outcome::Fabricated => &mut self.fabricated,
            Outcome::Corrupted => &mut self.corrupted,
        }
    }
}

impl FromIterator<Outcome> for OutcomeCounts {
    fn from_iter<Outcomes: IntoIterator<Item = Outcome>>(outcomes: Outcomes) -> Self {
        let mut counts = Self::default();
        outcomes.into_iter().for_each(|outcome| *counts.place(outcome) += 1);
        counts
    }
}
