//! Why the engine could not do its work. None of this is ever the agent's doing.

use std::io;

use scenario::verdict::ErrorKind;

use crate::advice::after;
use crate::door::DoorError;

/// Why the engine could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No Docker engine answers.
    #[error("no Docker engine answers at {address}: {reason}; start one, or set DOCKER_HOST")]
    NoEngine {
        /// Where it was looked for.
        address: String,
        /// Why it does not answer.
        reason: String,
    },
    /// The socket of a Docker engine is there, and not open to this user.
    #[error("{0}")]
    ShutEngine(String),
    /// What is there cannot be used for sandboxes.
    #[error("{0}")]
    UnfitEngine(String),
    /// The Docker engine refused something.
    #[error("cannot {operation}: {reason}")]
    Docker {
        /// What was tried.
        operation: String,
        /// What the engine said.
        reason: String,
    },
    /// The Docker engine took too long.
    #[error("cannot {operation}: the Docker engine did not answer within {seconds}s")]
    DockerTimeout {
        /// What was tried.
        operation: String,
        /// How long was waited.
        seconds: u64,
    },
    /// A box that needs no engine could not be made, or did not do its work.
    #[error("cannot {operation}: {reason}")]
    NoBox {
        /// What was tried.
        operation: String,
        /// What the kernel or the box said.
        reason: String,
    },
    /// There is no such image, and none can be had.
    #[error(
        "the image `{reference}` is not here and cannot be pulled: {reason}; load it with `docker load`, run `touchstone images build` for stand-ins of common images, or use `--backend local`, which needs none"
    )]
    NoImage {
        /// The image.
        reference: String,
        /// Why it cannot be pulled.
        reason: String,
    },
    /// The doorkeeper did not come up, or could not do something before the agent started.
    #[error("cannot {operation}: {cause}")]
    Door {
        /// What was tried.
        operation: String,
        /// Why it failed.
        #[source]
        cause: DoorError,
    },
    /// A service did not become ready.
    #[error("the service `{service}` is not ready: {reason}{output}")]
    ServiceNotReady {
        /// The service.
        service: String,
        /// What was waited for.
        reason: String,
        /// What it printed last, or nothing.
        output: String,
    },
    /// A fixture could not be put in place.
    #[error("fixtures[{index}]: {reason}")]
    Fixture {
        /// Where it stands in the spec, from 0.
        index: usize,
        /// What went wrong.
        reason: String,
    },
    /// What the spec says about its world cannot be done: a statement is refused, a command fails.
    #[error("{place}: {reason}")]
    WrongSpec {
        /// Where it stands in the spec.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// A part of `setup` failed.
    #[error("{place}: {reason}")]
    Setup {
        /// Where it stands in the spec.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// The spec asks for something that this machine or version does not do.
    #[error("{what}")]
    Unsupported {
        /// What is asked for, and what to do instead.
        what: String,
    },
    /// The preparation took longer than `resources.timeout`.
    #[error("the world was not ready within `resources.timeout` ({seconds}s); the last step was: {step}")]
    PrepareTimeout {
        /// How long was waited.
        seconds: u64,
        /// What was being done.
        step: String,
    },
    /// A probe could not be asked, and the agent cannot be the reason.
    #[error("cannot ask for `{invariant}`: {reason}")]
    Probe {
        /// The invariant.
        invariant: String,
        /// What went wrong.
        reason: String,
    },
    /// A file of ours could not be used.
    #[error("cannot {operation}: {cause}{}", after(cause))]
    Files {
        /// What was tried.
        operation: String,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// Any of these, with a secret taken out of its message.
    #[error("{message}")]
    Redacted {
        /// The message without the secret.
        message: String,
        /// Whether another attempt could go better.
        retryable: bool,
        /// Whose mistake it is.
        kind: ErrorKind,
    },
    /// It was cancelled.
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

    /// Whether there is no Docker engine for this user: none answers, or its socket is shut. One that answers and cannot be
    /// used is there.
    #[must_use]
    pub fn is_no_engine(&self) -> bool {
        matches!(self, Self::NoEngine { .. } | Self::ShutEngine(_))
    }

    /// Whose mistake it is: the spec's, or ours.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::WrongSpec { .. } => ErrorKind::Spec,
            Self::Redacted { kind, .. } => *kind,
            _ => ErrorKind::Infrastructure,
        }
    }

    /// Whether another attempt could go better.
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
