//! Questions to the sandbox, asked after the agent ended, and their answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::datum::Datum;
use super::embedding::EmbeddingAnswer;
use super::files::Files;
use super::marker::without_key;
use super::output::Captured;
use super::{Limit, Usage};
use crate::checks::{RunsIn, Verify};

/// A question to the sandbox. Templates are replaced, so the engine does what it says and no more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Probe {
    /// Run a command in the workspace.
    Command {
        /// The words to execute.
        command: Vec<String>,
        /// Timeout.
        timeout: Duration,
        /// The place in which it runs.
        verify: Verify,
    },
    /// Look at files of the workspace.
    Files {
        /// A path or glob, relative to the workspace.
        path: String,
        /// Maximum number of bytes of each file's content to return; zero for none.
        content_bytes: u64,
        /// Maximum number of entries to return.
        most: usize,
    },
    /// Ask a database.
    Sql {
        /// The service.
        service: String,
        /// The query.
        query: String,
    },
    /// Run a check's script with the context on standard input.
    Script {
        /// The script: a path in the spec's folder, else in the workspace.
        script: String,
        /// The place in which it runs.
        runs_in: RunsIn,
        /// In which sandbox it is run, with `runs_in: sandbox`.
        verify: Verify,
        /// Timeout.
        timeout: Duration,
    },
}

/// The answer to a probe. An answer that the agent prevented is [`Answer::Unavailable`]; one that *we* could not get is
/// no answer at all, but an error of the attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "answer")]
pub enum Answer {
    /// The end of a command or script.
    Command(CommandAnswer),
    /// The files.
    Files(Files),
    /// The first row.
    Sql(SqlAnswer),
    /// The model judge's reply.
    Judge(JudgeAnswer),
    /// The vectors of a model of embeddings.
    Embedding(EmbeddingAnswer),
    /// The agent broke what was asked: it counts against the agent.
    Unavailable {
        /// A description of the broken part.
        reason: String,
        /// The limit behind it, when there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandAnswer {
    /// The exit of the command; `None` when it was stopped at its timeout.
    pub exit: Option<Exit>,
    /// The standard output.
    pub stdout: Captured,
    /// The standard error output.
    pub stderr: Captured,
    /// Paths of the image that had been changed when it ran; empty in a fresh sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_changes: Vec<String>,
}

/// The exit of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// The code that a shell would show: 128 + n for signal n.
    #[must_use]
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal @ 1..=64) => 128 + signal,
            // No such signal exists, so no check can have asked for it.
            Self::Signal(_) => -1,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

/// The answer of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlAnswer {
    /// The first column of the first row.
    Value(Datum),
    /// The query returned no row.
    NoRow,
    /// The database refused the query.
    Refused(String),
}

/// The request to the model judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeRequest {
    /// The model.
    pub model: String,
    /// The temperature.
    pub temperature: f64,
    /// The system prompt.
    pub system: String,
    /// The prompt.
    pub prompt: String,
    /// The name of the tags around what is judged, which is another one in each attempt.
    #[serde(default)]
    pub fence: String,
}

impl JudgeRequest {
    /// Returns the same request about nothing: the judged text is removed, and no text of the agent is in it. `None`
    /// when it cannot be found.
    #[must_use]
    pub fn about_nothing(&self) -> Option<Self> {
        let (open, close) = (format!("<{}>", self.fence), format!("</{}>", self.fence));
        // The task stands in such tags too, before what is judged.
        let (before, rest) = self.prompt.rsplit_once(&open).filter(|_| !self.fence.is_empty())?;
        let (_, after) = rest.split_once(&close)?;
        Some(Self { prompt: format!("{before}{open}\n(nothing)\n{close}{after}"), ..self.clone() })
    }

    /// A plain question of ours to the same model, with nothing of the spec's prompt in it: a model that rates this and nothing of
    /// the spec's own is not the one to blame.
    #[must_use]
    pub fn plain(&self) -> Self {
        let fence = if self.fence.is_empty() { "material" } else { &self.fence };
        let prompt =
            format!("Criteria:\nThe material is the word hello.\n\nWhat is judged:\n<{fence}>\nhello\n</{fence}>\n");
        Self { prompt, ..self.clone() }
    }

    /// The request without what is different in each attempt: the name of its tags and the key of its redaction markers. Two
    /// attempts that ask the same have the same one.
    #[must_use]
    pub fn normalised(&self, marker_key: Option<&str>) -> Self {
        let same = |text: &str| {
            let text = if self.fence.is_empty() { text.to_owned() } else { text.replace(&self.fence, "untrusted\0") };
            without_key(&text, marker_key)
        };
        Self { system: same(&self.system), prompt: same(&self.prompt), fence: String::new(), ..self.clone() }
    }
}

/// The answer of the model judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeAnswer {
    /// Its reply, or why there is none.
    pub reply: Result<String, String>,
    /// The model, as the spec names it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The family of the model that the machine's configuration says, or that of the model behind an alias.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub family: String,
    /// Set when there is no reply because of the prompt, whatever is judged.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub broken_prompt: bool,
    /// The usage of the call.
    #[serde(default)]
    pub usage: Usage,
    /// True when the reply is one that was given to the same question before, and cost nothing.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub cached: bool,
}

impl Default for JudgeAnswer {
    /// An empty reply of nobody.
    fn default() -> Self {
        Self {
            reply: Ok(String::new()),
            model: String::new(),
            family: String::new(),
            broken_prompt: false,
            usage: Usage::default(),
            cached: false,
        }
    }
}

impl JudgeAnswer {
    /// The family of the model that replied.
    #[must_use]
    pub fn family(&self) -> String {
        if self.family.is_empty() { super::model_family(&self.model) } else { self.family.clone() }
    }
}
