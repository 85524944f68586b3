//! An agent that acts instead of a spec's own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::spec::types::CheatName;

/// Marks a command that is one word, which could be taken for the name of an agent.
const COMMAND: &str = "cmd:";
/// The length limit of a command in bytes.
const MOST_COMMAND: usize = 4096;
/// Marks the name of a cheat.
const CHEAT: &str = "cheat:";

/// An agent that acts instead of a spec's own: one of ours, to see whether its invariants prove anything, or a command, to put
/// another agent to the same test.
///
/// Its text is the same on the command line, in the API and in the database.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentOverride {
    /// Does nothing.
    Noop,
    /// Solves the task with `task.solution`.
    Oracle,
    /// Tries to pass without doing what is asked: a cheat that every spec has, or one of `task.cheats`.
    Cheat(CheatName),
    /// A line for `sh -c`, run as an agent of `type: cli` is: in the workspace, with the prompt on standard input.
    Command(String),
}

/// A text that names no agent and is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this version knows no agent `{}`; `cmd:COMMAND` runs a command as the agent", crate::untrusted::line(.0, 200))]
pub struct UnknownAgent(pub String);

impl AgentOverride {
    /// Those with a fixed name.
    pub const PLAIN: [Self; 2] = [Self::Noop, Self::Oracle];

    /// The form of its text, as a regular expression.
    pub const FORM: &str = r"^(noop|oracle|cheat:[a-z0-9]+(-[a-z0-9]+)*|cmd:[\s\S]*\S[\s\S]*|[\s\S]*[\s/][\s\S]*)$";

    /// The length limit of its text in bytes.
    pub const MOST_BYTES: usize = MOST_COMMAND;

    /// Its fixed name; `None` for a cheat or a command.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Noop => Some("noop"),
            Self::Oracle => Some("oracle"),
            Self::Cheat(_) | Self::Command(_) => None,
        }
    }

    /// A line about it for people.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::Noop => "Does nothing",
            Self::Oracle => "Solves the task with `task.solution`",
            Self::Cheat(_) => "Tries to pass without doing what is asked",
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

    /// The cheat in a text: after `cheat:`, if the rest is a name.
    fn cheat(text: &str) -> Option<Self> {
        text.strip_prefix(CHEAT).and_then(CheatName::new).map(Self::Cheat)
    }
}

impl fmt::Display for AgentOverride {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) if command.parse() == Ok(self.clone()) => formatter.write_str(command),
            Self::Command(command) => write!(formatter, "{COMMAND}{command}"),
            Self::Cheat(name) => write!(formatter, "{CHEAT}{name}"),
            named => formatter.write_str(named.name().unwrap_or_default()),
        }
    }
}

impl FromStr for AgentOverride {
    type Err = UnknownAgent;

    fn from_str(text: &str) -> Result<Self, UnknownAgent> {
        let named = Self::PLAIN.into_iter().find(|agent| agent.name() == Some(text));
        let other = || Self::cheat(text).or_else(|| Self::command(text));
        named.or_else(other).ok_or_else(|| UnknownAgent(text.to_owned()))
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
    use crate::spec::types::CheatName;

    #[test]
    fn an_agent_is_written_and_read_as_its_word() {
        let command = |text: &str| AgentOverride::Command(text.to_owned());
        let cheat = AgentOverride::Cheat(CheatName::new("touch-paths").expect("a name"));
        let form = regex::Regex::new(AgentOverride::FORM).expect("a form");
        for (agent, word) in [
            (AgentOverride::Noop, "noop"),
            (AgentOverride::Oracle, "oracle"),
            (cheat, "cheat:touch-paths"),
            (command("python3 agent.py"), "python3 agent.py"),
            (command("./agent"), "./agent"),
            (command("agent"), "cmd:agent"),
            (command("oracle"), "cmd:oracle"),
            (command("cheat:x"), "cmd:cheat:x"),
            (command("cmd:x y"), "cmd:cmd:x y"),
        ] {
            assert_eq!((agent.to_string().as_str(), word.parse()), (word, Ok(agent.clone())));
            assert_eq!(serde_json::to_value(&agent).expect("JSON"), json!(word));
            assert_eq!(serde_json::from_value::<AgentOverride>(json!(word)).expect("an agent"), agent);
            assert!(form.is_match(word), "{word}");
        }
        let error = "Noop".parse::<AgentOverride>().expect_err("another word").to_string();
        assert_eq!(error, "this version knows no agent `Noop`; `cmd:COMMAND` runs a command as the agent");
        for wrong in ["", "cmd:", "cmd: ", " ", "a b\0", "cheat:", "cheat", &format!("x {}", "y".repeat(4096))] {
            assert!(wrong.parse::<AgentOverride>().is_err(), "{wrong:?}");
        }
    }
}
