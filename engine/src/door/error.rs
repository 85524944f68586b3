//! Errors at the door.

use std::io;
use std::net::SocketAddr;

use doorkeeper::protocol::{Event, Failure};

/// Reason why a doorkeeper did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The doorkeeper is gone.
    #[error("the doorkeeper is gone: {reason}")]
    Closed {
        /// Reason why the connection ended.
        reason: String,
    },
    /// The doorkeeper does not answer.
    #[error("the doorkeeper was silent for {seconds}s")]
    Silent {
        /// Length of the timeout in seconds.
        seconds: u64,
    },
    /// The doorkeeper works, and does not come to an end.
    #[error("the doorkeeper was not done within {seconds}s")]
    Late {
        /// Length of the timeout in seconds.
        seconds: u64,
    },
    /// The doorkeeper tried and failed.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// A connection inside the sandbox was not taken.
    #[error("cannot connect to {address} inside the sandbox: {cause}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The error.
        #[source]
        cause: io::Error,
    },
    /// The answer does not belong to the question.
    #[error("the doorkeeper answered something else: {0}")]
    Unexpected(String),
}

impl DoorError {
    /// The error for an event that does not belong to the question.
    pub(super) fn unexpected(event: Event) -> Self {
        match event {
            Event::Failed { failure, .. } => Self::Failed(failure),
            other => Self::Unexpected(format!("{other:?}").chars().take(200).collect()),
        }
    }

    /// The kernel's number, when the doorkeeper tried and could not.
    #[must_use]
    pub fn errno(&self) -> Option<rustix::io::Errno> {
        match self {
            Self::Failed(failure) if failure.errno != 0 => Some(rustix::io::Errno::from_raw_os_error(failure.errno)),
            _ => None,
        }
    }

    /// Returns true if the doorkeeper is there and did not answer in time. Once an agent has acted, the cause is
    /// something that it left: the doorkeeper does each thing in small steps, and reports while it works.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Late { .. })
    }

    /// Returns true if the doorkeeper is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }
}
