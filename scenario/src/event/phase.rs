//! The parts of a scenario's life.

use std::fmt;

/// The parts of a scenario's life that the engine is in charge of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The world is built.
    Prepare,
    /// The agent acts.
    Act,
    /// The probes look at the result of the agent.
    Probe,
    /// The world is removed, or kept.
    Destroy,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Prepare, Self::Act, Self::Probe, Self::Destroy];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Act => "act",
            Self::Probe => "probe",
            Self::Destroy => "destroy",
        }
    }

    /// The phase with this word.
    pub(super) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.word() == word)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}
