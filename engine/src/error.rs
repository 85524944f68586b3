//! Reasons why the engine could not do its work. None of them is ever the agent's doing: `docs/reliability.md` explains
//! that for each kind, and for each file that makes one after the agent started.

use std::io;

use scenario::spec::sections::MutationKind;
use scenario::verdict::ErrorKind;

use crate::advice::after;
use crate::door::DoorError;

/// Reason why the engine could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No Docker engine answers.
    #[error("no Docker engine answers at {address}: {reason}; start one, or set DOCKER_HOST")]
    NoEngine {
        /// Address where it was looked for.
        address: String,
        /// Reason why it does not answer.
        reason: String,
    },
    /// The socket of a Docker engine is there, and not open to this user.
    #[error("{0}")]
    ShutEngine(String),
    /// The engine cannot be used for sandboxes.
    #[error("{0}")]
    UnfitEngine(String),
    /// The Docker engine refused something.
    #[error("cannot {operation}: {reason}")]
    Docker {
        /// The operation.
        operation: String,
        /// The engine's message.
        reason: String,
    },
    /// The Docker engine took too long.
    #[error("cannot {operation}: the Docker engine did not answer within {seconds}s")]
    DockerTimeout {
        /// The operation.
        operation: String,
        /// Length of the timeout in seconds.
        seconds: u64,
    },
    /// A box that needs no engine could not be made, or did not do its work.
    #[error("cannot {operation}: {reason}")]
    NoBox {
        /// The operation.
        operation: String,
        /// The message of the kernel or the box.
        reason: String,
    },
    /// The image is not here, and cannot be pulled.
    #[error(
        "the image `{reference}` is not here and cannot be pulled: {reason}; load it with `docker load`, run `touchstone images build` for stand-ins of common images, or use `--backend local`, which needs none"
    )]
    NoImage {
        /// The image.
        reference: String,
        /// Reason why it cannot be pulled.
        reason: String,
    },
    /// The doorkeeper did not come up, or could not do something before the agent started.
    #[error("cannot {operation}: {cause}")]
    Door {
        /// The operation.
        operation: String,
        /// The error.
        #[source]
        cause: DoorError,
    },
    /// A service did not become ready.
    #[error("the service `{service}` is not ready: {reason}{output}")]
    ServiceNotReady {
        /// The service.
        service: String,
        /// The condition that was not met.
        reason: String,
        /// Its last output, or nothing.
        output: String,
    },
    /// A fixture could not be put in place.
    #[error("fixtures[{index}]: {reason}")]
    Fixture {
        /// Its index in the spec, from 0.
        index: usize,
        /// The error.
        reason: String,
    },
    /// The spec asks for something in its world that fails: a statement is refused, a command fails.
    #[error("{place}: {reason}")]
    WrongSpec {
        /// Its place in the spec.
        place: String,
        /// The error.
        reason: String,
    },
    /// A part of `setup` failed.
    #[error("{place}: {reason}")]
    Setup {
        /// Its place in the spec.
        place: String,
        /// The error.
        reason: String,
    },
    /// The spec asks for something that this machine or version does not do.
    #[error("{what}")]
    Unsupported {
        /// The unsupported request, and an alternative.
        what: String,
    },
    /// The preparation took longer than `resources.timeout`.
    #[error("the world was not ready within `resources.timeout` ({seconds}s); the last step was: {step}")]
    PrepareTimeout {
        /// Length of the timeout in seconds.
        seconds: u64,
        /// The step that was under way.
        step: String,
    },
    /// A probe could not be asked, and the agent cannot be the reason.
    #[error("cannot ask for `{invariant}`: {reason}")]
    Probe {
        /// The invariant.
        invariant: String,
        /// The error.
        reason: String,
    },
    /// The kernel ended processes of a sandbox that was below its own limit.
    #[error(
        "the machine, or a control group around the sandboxes, had no memory left, and the kernel ended processes of a sandbox that was below its own limit; give the worker more memory, or let fewer sandboxes be there at once (`--max-concurrent`, `--memory`)"
    )]
    NoMemoryOutside,
    /// A file of ours could not be used.
    #[error("cannot {operation}: {cause}{}", after(cause))]
    Files {
        /// The operation.
        operation: String,
        /// The error.
        #[source]
        cause: io::Error,
    },
    /// Any of these, with a secret taken out of its message.
    #[error("{message}")]
    Redacted {
        /// The message without the secret.
        message: String,
        /// True when another attempt may succeed.
        retryable: bool,
        /// Kind of error, which says whose mistake it is.
        kind: ErrorKind,
    },
    /// A model did not write the prompt of a mutation.
    #[error("the model `{model}` did not write the mutation `{kind}`: {reason}")]
    NoPrompt {
        /// The kind of mutation.
        kind: MutationKind,
        /// The model.
        model: String,
        /// The reason why there is none.
        reason: String,
    },
    /// A call was held, and nobody could be asked for an approval.
    #[error("a held call could not be approved: {reason}")]
    Approvals {
        /// The reason why nobody could be asked.
        reason: String,
    },
    /// The attempt was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl EngineError {
    /// Names what the doorkeeper was asked for.
    pub(crate) fn door(operation: impl Into<String>) -> impl FnOnce(DoorError) -> Self {
        let operation = operation.into();
        move |cause| Self::Door { operation, cause }
    }

    /// Names what was done with a file of ours.
    pub(crate) fn files(operation: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let operation = operation.into();
        move |cause| Self::Files { operation, cause }
    }

    /// Returns true if there is no Docker engine for this user: none answers, or its socket is not open to the user. An
    /// engine that answers and cannot be used is there.
    #[must_use]
    pub fn is_no_engine(&self) -> bool {
        matches!(self, Self::NoEngine { .. } | Self::ShutEngine(_))
    }

    /// Returns true if a doorkeeper is there and did not answer in time.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Door { cause, .. } if cause.is_silence())
    }

    /// Returns the kind of error, which says whose mistake it is: the spec's, or ours.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::WrongSpec { .. } => ErrorKind::Spec,
            Self::Redacted { kind, .. } => *kind,
            _ => ErrorKind::Infrastructure,
        }
    }

    /// Returns true if another attempt may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NoEngine { .. }
            | Self::Docker { .. }
            | Self::NoBox { .. }
            | Self::DockerTimeout { .. }
            | Self::Door { .. }
            | Self::ServiceNotReady { .. }
            | Self::PrepareTimeout { .. }
            | Self::Probe { .. }
            | Self::NoMemoryOutside
            | Self::Approvals { .. }
            | Self::NoPrompt { .. }
            | Self::Files { .. } => true,
            Self::Redacted { retryable, .. } => *retryable,
            Self::ShutEngine(_)
            | Self::UnfitEngine(_)
            | Self::NoImage { .. }
            | Self::Fixture { .. }
            | Self::WrongSpec { .. }
            | Self::Setup { .. }
            | Self::Unsupported { .. }
            | Self::Cancelled => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The folders and files whose code runs after the agent has started.
    const AFTER_THE_AGENT: [&str; 9] = [
        "agent",
        "probes",
        "database",
        "services",
        "run/audit.rs",
        "run/databases.rs",
        "run/honeytokens.rs",
        "run/mod.rs",
        "run/probe.rs",
    ];

    /// The first column of the rows below a heading of the documentation; each of them must say something in its last one.
    fn explained(heading: &str) -> BTreeSet<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reliability.md");
        let text = fs::read_to_string(path).expect("the documentation");
        let section = text.split(heading).nth(1).and_then(|rest| rest.split("\n#").next()).expect("the section");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.map(|row| {
            let (name, rest) = row.split_once('`').expect("a name");
            assert!(rest.trim_matches([' ', '|']).len() > 20, "docs/reliability.md does not explain `{name}`");
            name.to_owned()
        })
        .collect()
    }

    /// The variants of the enum, as its source names them.
    fn variants() -> BTreeSet<String> {
        let source = include_str!("error.rs");
        let body = source.split("pub enum EngineError {").nth(1).and_then(|rest| rest.split("\n}").next());
        let lines = body.expect("the enum").lines().filter_map(|line| line.strip_prefix("    "));
        let starts = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
        starts.map(|line| line.split([' ', '(', ',']).next().unwrap_or_default().to_owned()).collect()
    }

    fn sources(path: &Path, found: &mut Vec<PathBuf>) {
        if path.is_dir() {
            let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path());
            entries.for_each(|entry| sources(&entry, found));
        } else {
            found.push(path.to_owned());
        }
    }

    /// Returns true if code outside of tests makes an error.
    fn makes_errors(path: &Path) -> bool {
        let text = fs::read_to_string(path).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let made = ["EngineError::door(", "EngineError::files(", "Err(EngineError::", "EngineError::Unsupported {"];
        made.iter().any(|made| code.contains(made))
    }

    #[test]
    fn the_documentation_explains_every_kind_of_error() {
        assert_eq!(explained("### What the engine finds"), variants());
    }

    #[test]
    fn the_documentation_explains_every_file_that_makes_an_error_after_the_agent_started() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        AFTER_THE_AGENT.iter().for_each(|path| sources(&root.join(path), &mut found));
        let making = found.iter().filter(|path| makes_errors(path));
        let making: BTreeSet<_> =
            making.map(|path| path.strip_prefix(&root).expect("a path inside").display().to_string()).collect();
        let explained = explained("### Where the engine finds it");
        let missing: Vec<_> = making.difference(&explained).collect();
        assert!(missing.is_empty(), "docs/reliability.md does not explain the errors of {missing:?}");
        let gone: Vec<_> = explained.iter().filter(|path| !root.join(path).exists()).collect();
        assert!(gone.is_empty(), "docs/reliability.md explains {gone:?}, which are not there");
    }
}
