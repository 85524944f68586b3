//! An agent that acts instead of a spec's own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent that acts instead of a spec's own, to see whether its invariants prove anything.
///
/// Its word is the same on the command line, in the API and in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum AgentOverride {
    /// Does nothing.
    Noop,
    /// Solves the task with `task.solution`.
    Oracle,
}

/// A word that names no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this version knows no agent `{0}`")]
pub struct UnknownAgent(pub String);

impl AgentOverride {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Noop, Self::Oracle];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Oracle => "oracle",
        }
    }

    /// A line about it for people.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Noop => "Does nothing",
            Self::Oracle => "Solves the task with `task.solution`",
        }
    }
}

impl fmt::Display for AgentOverride {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl FromStr for AgentOverride {
    type Err = UnknownAgent;

    fn from_str(word: &str) -> Result<Self, UnknownAgent> {
        let unknown = || UnknownAgent(word.to_owned());
        Self::ALL.into_iter().find(|agent| agent.word() == word).ok_or_else(unknown)
    }
}

impl TryFrom<String> for AgentOverride {
    type Error = UnknownAgent;

    fn try_from(word: String) -> Result<Self, UnknownAgent> {
        word.parse()
    }
}

impl From<AgentOverride> for &'static str {
    fn from(agent: AgentOverride) -> Self {
        agent.word()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::AgentOverride;

    #[test]
    fn an_agent_is_written_and_read_as_its_word() {
        for (agent, word) in [(AgentOverride::Noop, "noop"), (AgentOverride::Oracle, "oracle")] {
            assert_eq!((agent.to_string().as_str(), word.parse()), (word, Ok(agent)));
            assert_eq!(serde_json::to_value(agent).expect("JSON"), json!(word));
            assert_eq!(serde_json::from_value::<AgentOverride>(json!(word)).expect("an agent"), agent);
        }
        let error = "Noop".parse::<AgentOverride>().expect_err("another word");
        assert_eq!(error.to_string(), "this version knows no agent `Noop`");
    }
}
