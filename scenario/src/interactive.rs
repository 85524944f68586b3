//! Messages about an interactive sandbox: a request to the worker that has it, and its answer.
//!
//! A server asks on behalf of a sandbox's owner; in one process the words are passed in memory, otherwise they are JSON on
//! the way to a worker's control port. The shapes inside the answers are those of Keystone's SDKs.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

/// Maximum number of bytes of a file that are written or read at once.
pub const MOST_FILE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of bytes of each of a command's streams in the answer.
pub const MOST_OUTPUT_BYTES: usize = 1024 * 1024;
/// Maximum size of a command in bytes.
pub const MOST_COMMAND_BYTES: usize = 128 * 1024;
/// Maximum size of a path in bytes.
pub const MOST_PATH_BYTES: usize = 4096;
/// The exit code of a command that did not end in its time, as `timeout` has it.
pub const TIMED_OUT: i64 = 124;

/// A question about an interactive sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Runs a line with `sh -c` in the workspace, as the agent's user with the agent's environment.
    Command {
        /// The sandbox.
        sandbox: String,
        /// The line.
        command: String,
        /// Timeout of the command; the worker chooses one when it is absent.
        #[serde(default)]
        timeout_ms: Option<u64>,
        /// True to return as soon as the command was started.
        #[serde(default)]
        background: bool,
    },
    /// Writes a file, with the folders that lead to it.
    Write {
        /// The sandbox.
        sandbox: String,
        /// The path: below the workspace, or anywhere when it is absolute.
        path: String,
        /// The content.
        content: FileBytes,
    },
    /// Reads a file.
    Read {
        /// The sandbox.
        sandbox: String,
        /// The path: below the workspace, or anywhere when it is absolute.
        path: String,
    },
    /// Removes a file, or a folder with all that is in it.
    Remove {
        /// The sandbox.
        sandbox: String,
        /// The path: below the workspace, or anywhere when it is absolute.
        path: String,
    },
    /// Looks at the workspace and at the processes.
    State {
        /// The sandbox.
        sandbox: String,
    },
    /// Compares the workspace with how it was when the sandbox became ready.
    Diff {
        /// The sandbox.
        sandbox: String,
    },
    /// Asks for the events that a Keystone SDK inside the sandbox reported.
    Reported {
        /// The sandbox.
        sandbox: String,
    },
    /// Ends the sandbox. One that has ended already is no mistake.
    Destroy {
        /// The sandbox.
        sandbox: String,
    },
}

impl Ask {
    /// The sandbox that is asked about.
    #[must_use]
    pub fn sandbox(&self) -> &str {
        match self {
            Self::Command { sandbox, .. }
            | Self::Write { sandbox, .. }
            | Self::Read { sandbox, .. }
            | Self::Remove { sandbox, .. }
            | Self::State { sandbox }
            | Self::Diff { sandbox }
            | Self::Reported { sandbox }
            | Self::Destroy { sandbox } => sandbox,
        }
    }
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "value", rename_all = "snake_case")]
pub enum Reply {
    /// The result of a command.
    Command(CommandReply),
    /// The content of a file.
    File(FileBytes),
    /// The state of the sandbox.
    State(StateReply),
    /// The changes in the workspace.
    Diff(DiffReply),
    /// The events that the SDK reported, in its order.
    Events(Vec<Json>),
    /// The request was carried out, and there is no data to return.
    Done,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandReply {
    /// The line.
    pub command: String,
    /// Its standard output. For a command in the background: the number of its process.
    pub stdout: String,
    /// Its standard error output.
    pub stderr: String,
    /// Its exit code, as a shell gives it: a signal is 128 and its number, a timeout is [`TIMED_OUT`].
    pub exit_code: i64,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// True when its output was cut: only the beginning and the end are here.
    #[serde(default)]
    pub truncated: bool,
    /// True when it was ended by its timeout.
    #[serde(default)]
    pub timed_out: bool,
}

/// The state of a sandbox at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateReply {
    /// Time of the observation.
    pub captured_at: Timestamp,
    /// The files of the workspace, by their paths in it.
    pub files: BTreeMap<String, FileState>,
    /// The processes, but for the doorkeeper's own.
    pub processes: Vec<ProcessState>,
    /// True when there is more than is here.
    #[serde(default)]
    pub incomplete: bool,
}

/// A file of a [`StateReply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its size in bytes.
    pub size: u64,
    /// Its permissions, such as `0644`.
    pub mode: String,
    /// `sha256:` and the digest of its content; empty when it could not be read, or is too large to be.
    pub checksum: String,
}

/// A process of a [`StateReply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessState {
    /// Its number inside the sandbox.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Its state: `running`, `sleeping`, `stopped`, `zombie` or `unknown`.
    pub status: String,
}

/// The changes in the workspace since the sandbox became ready, as paths in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiffReply {
    /// Added paths.
    pub added: Vec<String>,
    /// Removed paths.
    pub removed: Vec<String>,
    /// Modified paths.
    pub modified: Vec<String>,
    /// True when there is more than is here.
    #[serde(default)]
    pub incomplete: bool,
}

/// The address and readiness of a service of a sandbox, seen from inside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceState {
    /// Its name there.
    pub host: String,
    /// Its port there; 0 when it has none.
    pub port: u16,
    /// True if it answers.
    pub ready: bool,
}

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of the reason.
    pub kind: RefusalKind,
    /// The reason, for people.
    pub message: String,
}

impl Refusal {
    /// A refusal of a kind.
    #[must_use]
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// An answer or a refusal, as it comes back from a worker's control port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The answer.
    Reply(Reply),
    /// The reason why there is none.
    Refused(Refusal),
}

impl From<Result<Reply, Refusal>> for Answer {
    fn from(result: Result<Reply, Refusal>) -> Self {
        result.map_or_else(Self::Refused, Self::Reply)
    }
}

impl From<Answer> for Result<Reply, Refusal> {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Reply(reply) => Ok(reply),
            Answer::Refused(refusal) => Err(refusal),
        }
    }
}

/// The kind of the reason of a [`Refusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// There is no such sandbox here, or no such file in it.
    NotFound,
    /// The sandbox is being made.
    NotReady,
    /// The question makes no sense: a path that leads nowhere, a command without words.
    Invalid,
    /// The sandbox's user may not read or write it.
    Denied,
    /// It is larger than the maximum that can be passed on.
    TooLarge,
    /// Too much is being asked of the sandbox, or of its worker, at once.
    Busy,
    /// There was no answer in time.
    TimedOut,
    /// The sandbox, or the worker that had it, is not there any more.
    Gone,
    /// It failed.
    Failed,
}

impl RefusalKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotReady => "not_ready",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::TimedOut => "timed_out",
            Self::Gone => "gone",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The bytes of a file; as JSON they are a string of base64.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FileBytes(pub Vec<u8>);

impl fmt::Debug for FileBytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FileBytes({} bytes)", self.0.len())
    }
}

impl Serialize for FileBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for FileBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_ask(ask: &Ask, expected: &str) {
        let json = serde_json::to_string(ask).unwrap();
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Ask>(&json).unwrap(), *ask);
    }

    #[test]
    fn questions_survive_their_way() {
        let sandbox = || "sb-1".to_owned();
        let command =
            Ask::Command { sandbox: sandbox(), command: "ls".to_owned(), timeout_ms: Some(5), background: false };
        check_ask(&command, r#"{"ask":"command","sandbox":"sb-1","command":"ls","timeout_ms":5,"background":false}"#);
        let content = FileBytes(vec![0, 255]);
        check_ask(
            &Ask::Write { sandbox: sandbox(), path: "/a".to_owned(), content },
            r#"{"ask":"write","sandbox":"sb-1","path":"/a","content":"AP8="}"#,
        );
        check_ask(&Ask::Destroy { sandbox: sandbox() }, r#"{"ask":"destroy","sandbox":"sb-1"}"#);
    }

    #[test]
    fn answers_survive_their_way() {
        let file = FileState { size: 2, mode: "0644".to_owned(), checksum: "sha256:ab".to_owned() };
        let process = ProcessState { pid: 7, command: "sleep 9".to_owned(), status: "sleeping".to_owned() };
        let state = StateReply {
            captured_at: Timestamp::UNIX_EPOCH,
            files: BTreeMap::from([("a.txt".to_owned(), file)]),
            processes: vec![process],
            incomplete: false,
        };
        let replies = [
            Reply::Command(CommandReply { command: "ls".to_owned(), exit_code: 1, ..CommandReply::default() }),
            Reply::File(FileBytes(b"\xff\x00".to_vec())),
            Reply::State(state),
            Reply::Diff(DiffReply { added: vec!["a".to_owned()], ..DiffReply::default() }),
            Reply::Events(vec![serde_json::json!({ "tool": "x" })]),
            Reply::Done,
        ];
        for reply in replies {
            let json = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&json).unwrap(), reply, "{json}");
        }
        let refusal = Refusal::new(RefusalKind::TooLarge, "too much");
        let answer = Answer::from(Err(refusal.clone()));
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(json, r#"{"refused":{"kind":"too_large","message":"too much"}}"#);
        assert_eq!(Result::from(serde_json::from_str::<Answer>(&json).unwrap()), Err(refusal));
    }
}
