//! An agent that acts instead of a spec's own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Marks a command that is one word, which could be taken for the name of an agent.
const COMMAND: &str = "cmd:";
/// How long a command may be, in bytes.
const MOST_COMMAND: usize = 4096;

/// An agent that acts instead of a spec's own: one of ours, to see whether its invariants prove anything, or a command, to put
/// another agent to the same test.
///
/// Its text is the same on the command line, in the API and in the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentOverride {
    /// Does nothing.
    Noop,
    /// Solves the task with `task.solution`.
    Oracle,
    /// A line for `sh -c`, run as an agent of `type: cli` is: in the workspace, with the prompt on standard input.
    Command(String),
}

/// A text that names no agent and is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this version knows no agent `{}`; `cmd:COMMAND` runs a command as the agent", crate::untrusted::line(.0, 200))]
pub struct UnknownAgent(pub String);

impl AgentOverride {
    /// Every one that has a name.
    pub const ALL: [Self; 2] = [Self::Noop, Self::Oracle];

    /// Its name; `None` for a command.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Noop => Some("noop"),
            Self::Oracle => Some("oracle"),
            Self::Command(_) => None,
        }
    }

    /// A line about it for people.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::Noop => "Does nothing",
            Self::Oracle => "Solves the task with `task.solution`",
            Self::Command(_) => "Runs a command",
        }
    }

    /// The command in a text: after `cmd:`, or a text that no name could be, because it has a blank or a slash.
    fn command(text: &str) -> Option<Self> {
        let is_plain = text.contains(|character: char| character.is_whitespace() || character == '/');
        let command = text.strip_prefix(COMMAND).or_else(|| is_plain.then_some(text))?;
        let is_usable = !command.trim().is_empty() && command.len() <= MOST_COMMAND && !command.contains('\0');
        is_usable.then(|| Self::Command(command.to_owned()))
    }
}

impl fmt::Display for AgentOverride {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) if command.parse() == Ok(self.clone()) => formatter.write_str(command),
            Self::Command(command) => write!(formatter, "{COMMAND}{command}"),
            named => formatter.write_str(named.name().unwrap_or_default()),
        }
    }
}

impl FromStr for AgentOverride {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        let named = Self::ALL.into_iter().find(|agent| agent.name() == Some(text));
        named.or_else(|| Self::command(text)).ok_or_else(|| UnknownAgent(text.to_owned()))
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
        agent.to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::AgentOverride;

    #[test]
    fn an_agent_is_written_and_read_as_its_word() {
        let command = |text: &str| AgentOverride::Command(text.to_owned());
        for (agent, word) in [
            (AgentOverride::Noop, "noop"),
            (AgentOverride::Oracle, "oracle"),
            (command("python3 agent.py"), "python3 agent.py"),
            (command("./agent"), "./agent"),
            (command("agent"), "cmd:agent"),
            (command("oracle"), "cmd:oracle"),
            (command("cmd:x y"), "cmd:cmd:x y"),
        ] {
            assert_eq!((agent.to_string().as_str(), word.parse()), (word, Ok(agent.clone())));
            assert_eq!(serde_json::to_value(&agent).expect("JSON"), json!(word));
            assert_eq!(serde_json::from_value::<AgentOverride>(json!(word)).expect("an agent"), agent);
        }
        let error = "Noop".parse::<AgentOverride>().expect_err("another word").to_string();
        assert_eq!(error, "this version knows no agent `Noop`; `cmd:COMMAND` runs a command as the agent");
        for wrong in ["", "cmd:", "cmd: ", " ", "a b\0", &format!("x {}", "y".repeat(4096))] {
            assert!(wrong.parse::<AgentOverride>().is_err(), "{wrong:?}");
        }
    }
}
