//! An agent that acts instead of a spec's own.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::spec::types::CheatName;

/// The word before the name of a cheat.
const CHEAT: &str = "cheat:";

/// An agent that acts instead of a spec's own, to see whether its invariants prove anything.
///
/// Its word is the same on the command line, in the API and in the database.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentOverride {
    /// Does nothing.
    Noop,
    /// Solves the task with `task.solution`.
    Oracle,
    /// Tries to pass without doing what is asked: a cheat that every spec has, or one of `task.cheats`.
    Cheat(CheatName),
}

/// A word that names no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this version knows no agent `{0}`")]
pub struct UnknownAgent(pub String);

impl AgentOverride {
    /// Those without a name of their own.
    pub const PLAIN: [Self; 2] = [Self::Noop, Self::Oracle];

    /// The form of its word, as a regular expression.
    pub const FORM: &str = "^(noop|oracle|cheat:[a-z0-9]+(-[a-z0-9]+)*)$";

    /// Its word.
    #[must_use]
    pub fn word(&self) -> Cow<'static, str> {
        match self {
            Self::Noop => "noop".into(),
            Self::Oracle => "oracle".into(),
            Self::Cheat(name) => format!("{CHEAT}{name}").into(),
        }
    }

    /// A line about it for people.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::Noop => "Does nothing",
            Self::Oracle => "Solves the task with `task.solution`",
            Self::Cheat(_) => "Tries to pass without doing what is asked",
        }
    }
}

impl fmt::Display for AgentOverride {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.word())
    }
}

impl FromStr for AgentOverride {
    type Err = UnknownAgent;

    fn from_str(word: &str) -> Result<Self, UnknownAgent> {
        let unknown = || UnknownAgent(word.to_owned());
        match word.strip_prefix(CHEAT) {
            Some(name) => CheatName::new(name).map(Self::Cheat).ok_or_else(unknown),
            None => Self::PLAIN.into_iter().find(|agent| agent.word() == word).ok_or_else(unknown),
        }
    }
}

impl TryFrom<String> for AgentOverride {
    type Error = UnknownAgent;

    fn try_from(word: String) -> Result<Self, UnknownAgent> {
        word.parse()
    }
}

impl From<AgentOverride> for String {
    fn from(agent: AgentOverride) -> Self {
        agent.word().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::AgentOverride;
    use crate::spec::types::CheatName;

    #[test]
    fn an_agent_is_written_and_read_as_its_word() {
        let cheat = AgentOverride::Cheat(CheatName::new("touch-paths").expect("a name"));
        let form = regex::Regex::new(AgentOverride::FORM).expect("a form");
        for (agent, word) in
            [(AgentOverride::Noop, "noop"), (AgentOverride::Oracle, "oracle"), (cheat, "cheat:touch-paths")]
        {
            assert_eq!((agent.to_string().as_str(), word.parse()), (word, Ok(agent.clone())));
            assert_eq!(serde_json::to_value(&agent).expect("JSON"), json!(word));
            assert_eq!(serde_json::from_value::<AgentOverride>(json!(word)).expect("an agent"), agent);
            assert!(form.is_match(word), "{word}");
        }
        for wrong in ["Noop", "cheat:", "cheat:a b", "cheat"] {
            let error = wrong.parse::<AgentOverride>().expect_err("another word");
            assert_eq!(error.to_string(), format!("this version knows no agent `{wrong}`"));
            assert!(!form.is_match(wrong), "{wrong}");
        }
    }
}
